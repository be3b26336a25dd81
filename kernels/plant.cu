// Make a tree of each vertex: parent_v = v.
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) plant(const __grid_constant__ Task t) {
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < t.page.last_vertex) t.context.parents[v] = v;
}
