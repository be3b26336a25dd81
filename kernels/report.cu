// Reported values: reported[u - first] = result(value_v), where v is the GPU's number of vertex u.
// In a narrowed run, `lost` becomes 1 if a value does not fit the bits in which it is stored.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) report(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 u = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (u >= t.page.last_vertex) return;
  i64 v = c.positions ? c.positions[u] : u;
  i64 in_degree = degree(in_offsets(c), v), out_degree = degree(out_offsets(c), v);
#if IS_NARROWED
  if (is_lost(c.values[v])) *c.lost = 1;
#endif
  i64 parent = FINDS_PARENTS ? (i64)c.parents[v] : -1;
  if (parent == NO_VERTEX) parent = -1;
  t.page.reported[u - t.page.first_vertex] =
      reported(c.parameters, c.values[v], v, c.n, in_degree, out_degree, parent, data_of(c, v));
}
