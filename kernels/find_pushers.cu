// next_frontier = the vertices that push to find parents (parents.cuh).
// Launch: one thread for each vertex, after weigh_classes. Shared memory: none.
#include "parents.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) find_pushers(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool pushes = false;
  if (v < c.n && degree(out_offsets(c), v)) {
    Accumulator y = contribution_of(c, v);
    pushes = y != identity(c.parameters) && are_pushed(c, class_of(y));
  }
  u32 word = __ballot_sync(FULL_MASK, pushes);
  if (lane_id() == 0 && v < c.n) c.next_frontier[v >> 5] = word;
}
