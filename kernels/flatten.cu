// Make the root of its tree the parent of each vertex.
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) flatten(const __grid_constant__ Task t) {
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < t.page.last_vertex) t.context.parents[v] = root_of(t.context, v);
}
