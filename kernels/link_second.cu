// Link the second edge of each vertex of the page.
// Launch: one thread for each vertex of the page, after hook_first. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) link_second(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= p.last_vertex) return;
  i64 e = in_offsets(c)[v] + 1;
  if (e >= in_offsets(c)[v + 1]) return;
  link(c, next_source(c, p, e, p.records ? stored_source(p, e - 1) : 0), v);
}
