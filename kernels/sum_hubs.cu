// Runs between a gather and apply_vertices: adds to sums[rank] of each hub the sums of its edges that are in `heads`. A
// hub has edges in more than MANY_RUNS runs after its first. In degree order the hubs are consecutive vertices, so in
// apply_vertices a few warps would have to add up nearly all heads.
// Launch: one warp for each hub of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sum_hubs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (k >= t.page.hub_count) return;
  Hub hub = t.page.hubs[k];
  Accumulator sum = identity(c.parameters);
#pragma unroll 4
  for (i64 run = hub.first_run + lane_id(); run <= hub.last_run; run += 32) sum = combine(sum, c.heads[run]);
  sum = warp_reduce(sum, combine);
  if (lane_id() == 0) c.sums[hub.rank] = combine(c.sums[hub.rank], sum);
}
