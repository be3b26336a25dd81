// Rewrite every value before an iteration: value_v = prepare(value_v, active_v) (Grus section 5).
// Launch: one thread for each vertex. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) prepare_values(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= t.page.last_vertex) return;
  bool is_active = c.frontier[v >> 5] >> (v & 31) & 1;
  i64 in_degree = degree(in_offsets(c), v), out_degree = degree(out_offsets(c), v);
  c.values[v] = prepare(c.parameters, c.values[v], is_active, v, c.n, in_degree, out_degree, data_of(c, v));
}
