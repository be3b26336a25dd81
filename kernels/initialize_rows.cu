// Initial values, first frontier, first total, as in initialize, where values are rows: column by column, by the lanes.
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_parts_to_tally needs.
#include "rows.cuh"

struct Known {
  VertexFacts vertex;
};

extern "C" __global__ void __launch_bounds__(THREADS) initialize_rows(const __grid_constant__ Task t) {
  const Context& c = t.context;
  u64* not_finite = t.page.not_finite;
  int column = column_of_lane();
  ColumnParameters own = parameters_in_column(c.parameters, column);
  auto prepare = [&](i64 v, bool in_bounds) { return Known{facts_of(c, v, in_bounds)}; };
  update_rows(t.page, c.frontier, prepare, [&](i64 v, const Known& known, ColumnPartial& part) {
    i64 in_degree = known.vertex.in_degree, out_degree = known.vertex.out_degree;
    ColumnVertexData data = data_of_column(c, v);
    ColumnValue value = initial_column(own, v, c.n, in_degree, out_degree, data);
    if (has_column()) column_at(c.values, v) = value;
    u64 bits = not_finite_bits(value) << 2 * COLUMN_FLOATS * column;
    if (bits && bits & ~ld_cg(not_finite)) atomicOr(not_finite, bits);  // many vertices may have the same bits
    if constexpr (HAS_COLUMN_TOTAL)
      part = add_total_column(part, aggregate_column(own, value, value, v, c.n, in_degree, out_degree, data));
    return frontier_column(own, value, v, c.n, in_degree, out_degree, data);
  });
}
