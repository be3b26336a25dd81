// Adds to sums[rank] of each hub the sums of its edges that are in `heads`, as in sum_hubs, where values are rows.
// Launch: one warp for each hub of the page. Shared memory: none.
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sum_row_hubs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (k >= t.page.hub_count) return;
  Hub hub = t.page.hubs[k];
  ColumnAccumulator sum = identity_column(parameters_in_column(c.parameters, column_of_lane()));
#pragma unroll 4
  for (i64 run = hub.first_run + group_of_lane(); run <= hub.last_run; run += ROW_GROUPS)
    sum = combine_column(sum, sum_at(c.heads, run));
#pragma unroll
  for (int s = 16; s >= ROW_LANES; s >>= 1) sum = combine_column(sum, warp_shfl(sum, (lane_id() + s) & 31));
  ColumnAccumulator& all = sum_at(c.sums, hub.rank);
  if (lane_id() < COLUMNS) all = combine_column(all, sum);
}
