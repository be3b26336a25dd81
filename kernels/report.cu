// Reported values: reported[v - first] = result(value_v).
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) report(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= t.page.last_vertex) return;
  i64 in_degree = degree(c.in_offsets, v), out_degree = degree(c.out_offsets, v);
  t.page.reported[v - t.page.first_vertex] =
      reported(c.parameters, c.values[v], v, c.n, in_degree, out_degree, data_of(c, v));
}
