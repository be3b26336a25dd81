// Link the edges of the page's vertices that are not in the largest tree and have fewer than `least_edges`.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) link_short(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= p.last_vertex || parent_of(c, v) == *c.largest) return;
  i64 begin = in_offsets(c)[v], end = in_offsets(c)[v + 1];
  if (end - begin >= p.least_edges) return;
  u32 source = 0;
  for (i64 e = begin; e < end; e++) {
    source = next_source(c, p, e, source);
    link(c, source, v);
  }
}
