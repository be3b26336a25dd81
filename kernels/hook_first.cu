// Make the first source of each vertex of the page its parent, if it is a smaller vertex. No two threads write the same
// parent, and parents are smaller than their children, so this needs no atomics and makes no cycles.
// Launch: one thread for each vertex of the page, after plant. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) hook_first(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= t.page.last_vertex || in_offsets(c)[v] == in_offsets(c)[v + 1]) return;
  u32 source = stored_source(t.page, in_offsets(c)[v]);
  if (source < v) c.parents[v] = source;
}
