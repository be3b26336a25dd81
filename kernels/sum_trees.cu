// Make the root of its tree the parent of each vertex, and add the vertex's value to that of the root. A sum that would
// not change is not written: most do not, because they are idempotent.
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sum_trees(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= t.page.last_vertex) return;
  u32 root = root_of(c, v);
  c.parents[v] = root;
  if (root == v) return;
  Value value = c.values[v], sum = *(volatile Value*)&c.values[root];  // one read: another thread may write it
  if (combine(sum, value) != sum) atomic_sum(&c.values[root], value);
}
