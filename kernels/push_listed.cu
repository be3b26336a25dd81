// The vertices of the queue push along their lists, a warp each (Grus section 4.2.2).
// Launch: any number of threads, after list_frontier. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_listed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  Pusher push{c, p};
  u32 warps = gridDim.x * (blockDim.x / 32), queued = p.tally->queued;
  for (u32 k = (blockIdx.x * blockDim.x + threadIdx.x) / 32; k < queued; k += warps) {
    u32 v = c.queue[k];
    push_rows(c, p, pushed_by(c, k, v), v, out_offsets(c)[v], out_offsets(c)[v + 1], push);
  }
  push.end();
}
