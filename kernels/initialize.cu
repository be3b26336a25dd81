// Initial values, first frontier, first total: value_v = init(v); active_v = frontier(value_v).
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_to_tally needs.
#include "vertices.cuh"

__device__ __forceinline__ Update initialize_vertex(const Context& c, u64* not_finite, i64 v) {
  i64 in_degree = degree(in_offsets(c), v), out_edges = degree(out_offsets(c), v);
  VertexData data = data_of(c, v);
  Value value = initial(c.parameters, v, c.n, in_degree, out_edges, data);
  c.values[v] = value;
  u64 bits = not_finite_bits(value);
  if (bits && bits & ~ld_cg(not_finite)) atomicOr(not_finite, bits);  // many vertices may have the same bits
  Partial part = no_total();
  if constexpr (HAS_TOTAL) part = aggregate(c.parameters, value, value, v, c.n, in_degree, out_edges, data);
  return {frontier(c.parameters, value, v, c.n, in_degree, out_edges, data), (u64)out_edges, part};
}

extern "C" __global__ void __launch_bounds__(THREADS) initialize(const __grid_constant__ Task t) {
  const Context& c = t.context;
  update_block(t.page, c.frontier, [&](i64 v, bool in_bounds) {
    Update done{false, 0, no_total()};
    if (in_bounds) done = initialize_vertex(c, t.page.not_finite, v);
    return done;
  });
}
