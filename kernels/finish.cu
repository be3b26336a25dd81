// The page's share of the total: partials summed block by block, in the same order every time.
// Launch: one warp. Shared memory: none.

extern "C" __global__ void __launch_bounds__(32) finish(const __grid_constant__ Task t) {
  if constexpr (HAS_TOTAL) {
    const Page& p = t.page;
    Partial sum = no_total();
    for (i64 k = lane_id(); k < p.blocks; k += 32) sum = add_total(sum, p.partials[k]);
    sum = over_lanes(sum, add_total);
    if (lane_id() == 0) p.tally->partial = sum;
  }
}
