// Between gather_segmented and apply_vertices: for a hub, whose edges go on through many runs, what these left in `heads`
// is added to sums[rank]. In degree order hubs stand side by side, and one thread each would hold up the page.
// Launch: a warp a hub of the page, blocks of 256. Shared memory: none.

extern "C" __global__ void __launch_bounds__(256) sum_hubs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (k >= t.page.hub_count) return;
  Hub hub = t.page.hubs[k];
  Accumulator sum = identity(c.parameters);
#pragma unroll 4
  for (i64 run = hub.first_run + lane_id(); run <= hub.last_run; run += 32) sum = combine(sum, c.heads[run]);
  sum = over_lanes(sum, combine);
  if (lane_id() == 0) c.sums[hub.rank] = combine(c.sums[hub.rank], sum);
}
