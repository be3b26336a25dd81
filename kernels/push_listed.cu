// The vertices at the page's places in the queue push along their lists, a warp each (Grus section 4.2.2). Blocks begin
// in the queue's order. If long lists are split, they are left to push_pieces.
// Launch: one warp for each place, after list_frontier or list_partitions. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_listed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  u32 place = t.page.first_place + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (place >= t.page.last_place) return;
  u32 v = c.queue[place];
  i64 begin = out_offsets(c)[v], end = out_offsets(c)[v + 1], shift = shift_of(c, place, begin);
  if (!c.splits || end - begin < PIECE) push_by_warp(c, pushed_by(c, place, v), v, begin + shift, end + shift);
}
