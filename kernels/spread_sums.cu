// Give each vertex the value of its root, which is the sum of the tree after sum_trees. The root need not be the parent:
// a thread of sum_trees may have shortened the path of another one's vertex late.
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) spread_sums(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= t.page.last_vertex) return;
  u32 root = c.parents[v];
  for (u32 next; (next = c.parents[root]) != root; root = next) {
  }
  c.values[v] = c.values[root];
}
