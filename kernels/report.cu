// Reported values: reported[u - first] = result(value_v), where v is the GPU's number of vertex u.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "parents.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) report(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 u = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (u >= t.page.last_vertex) return;
  i64 v = c.positions ? c.positions[u] : u;
  i64 in_degree = degree(c.in_offsets, v), out_degree = degree(c.out_offsets, v);
  i64 parent = FINDS_PARENTS && c.parents[v] != NO_VERTEX ? c.parents[v] : -1;
  t.page.reported[u - t.page.first_vertex] =
      reported(c.parameters, c.values[v], v, c.n, in_degree, out_degree, parent, data_of(c, v));
}
