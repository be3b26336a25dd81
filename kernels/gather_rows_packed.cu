// acc_v = sum over u -> v of gather(u), as in gather_rows, from packed sources. Each lane decodes four edges of 128,
// and its group takes them from there.
// Launch: one warp for each run of the page. Shared memory: none.
#include "packed_sources.cuh"
#include "row_segments.cuh"

template <bool WHOLE>
__device__ __forceinline__ void gather_packed_rows_of(
    const Context& c, const Page& p, RunPlace& w, const ColumnParameters& own, ColumnAccumulator& carry) {
  PackedSources sources = packed_sources(p, w.run);
  PackedEdges values = packed_edges(p, w.run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = w.run * RUN + k * STEP;
    if (!WHOLE && (base + STEP <= w.begin || base >= w.end)) continue;  // all of another page
    SegmentStarts s = find_starts<WHOLE>(c, w, base);
    u32 ids[4];
    Edge edges[4];
    unpack_sources(sources, k, s, ids, c.n - 1);
    if (values.packed) unpack_values(values, k, edges);
    else raw_edges<WHOLE>(p, w.begin, w.end, base + 4 * lane_id(), edges);
    sum_rows<WHOLE>(c, w, s, base, ids, edges, own, carry);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_rows_packed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (run * RUN >= p.last_edge) return;
  RunPlace w = beginning_of(c, p, run);
  ColumnParameters own = parameters_in_column(c.parameters, column_of_lane());
  ColumnAccumulator carry = identity_column(own);
  if (w.end - w.begin == RUN) gather_packed_rows_of<true>(c, p, w, own, carry);
  else gather_packed_rows_of<false>(c, p, w, own, carry);
  flush_last_row(c, w, carry);
}
