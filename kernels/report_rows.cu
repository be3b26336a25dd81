// Reported values, as in report, where values are rows: column by column, by the lanes.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) report_rows(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 u = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool in_bounds = u < p.last_vertex;
  i64 v = in_bounds && c.positions ? c.positions[u] : u;
  VertexFacts facts = facts_of(c, v, in_bounds);
  ColumnParameters own = parameters_in_column(c.parameters, column_of_lane());
#pragma unroll 4
  for (int q = 0; q < ROW_LANES; q++) {
    int owner = q * ROW_GROUPS + group_of_lane();  // the lane whose vertex the group takes
    i64 its = warp_shfl(v, owner), at = u - lane_id() + owner;
    VertexFacts known = warp_shfl(facts, owner);
    if (at < p.last_vertex && has_column())
      report_at(p.reported, at - p.first_vertex) = reported_column(
          own, column_at(c.values, its), its, c.n, known.in_degree, known.out_degree, -1, data_of_column(c, its));
  }
}
