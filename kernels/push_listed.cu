// The vertices of the queue push along their lists, a warp each (Grus section 4.2.2). Blocks begin in the queue's order.
// If long lists are split, they are left to push_pieces.
// Launch: one warp for each vertex of the queue, after list_frontier. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_listed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  u32 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (k >= t.page.tally->queued) return;
  u32 v = c.queue[k];
  i64 begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
  if (!c.splits || end - begin < PIECE) push_by_warp(c, pushed_by(c, k, v), v, begin, end);
}
