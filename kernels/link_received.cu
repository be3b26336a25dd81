// Link each vertex with its parent in the trees of another GPU, which has sent them to queue[0..n).
// Launch: one thread for each vertex. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) link_received(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < t.page.last_vertex && c.queue[v] != v) link(c, c.queue[v], v);
}
