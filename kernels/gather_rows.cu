// acc_v = sum over u -> v of gather(u), as in gather_segmented, where values are rows: column by column, by the lanes.
// Launch: one warp for each run of the page. Shared memory: none.
#include "row_segments.cuh"

template <bool WHOLE>
__device__ __forceinline__ void gather_rows_of(
    const Context& c, const Page& p, RunPlace& w, const ColumnParameters& own, ColumnAccumulator& carry) {
  i64 from = w.run * RUN;
  const uint4* sources = (const uint4*)(p.sources + (from - p.base_edge)) + lane_id();
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP;
    if (!WHOLE && (base + STEP <= w.begin || base >= w.end)) continue;  // all of another page
    SegmentStarts s = find_starts<WHOLE>(c, w, base);
    uint4 four = __ldcs(sources + 32 * k);
    u32 ids[4] = {four.x, four.y, four.z, four.w};
    Edge edges[4];
    raw_edges<WHOLE>(p, w.begin, w.end, base + 4 * lane_id(), edges);
    sum_rows<WHOLE>(c, w, s, base, ids, edges, own, carry);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_rows(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (run * RUN >= p.last_edge) return;
  RunPlace w = beginning_of(c, p, run);
  ColumnParameters own = parameters_in_column(c.parameters, column_of_lane());
  ColumnAccumulator carry = identity_column(own);
  if (w.end - w.begin == RUN) gather_rows_of<true>(c, p, w, own, carry);
  else gather_rows_of<false>(c, p, w, own, carry);
  flush_last_row(c, w, carry);
}
