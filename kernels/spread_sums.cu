// Give each vertex the value of its root, which is the sum of the tree after sum_trees.
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) spread_sums(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < t.page.last_vertex) c.values[v] = c.values[c.parents[v]];
}
