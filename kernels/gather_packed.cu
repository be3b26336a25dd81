// acc_v = sum over u -> v of gather(u), as in gather_segmented, from packed sources.
// Launch: one warp for each run of the page. Shared memory: none.
#include "packed_sources.cuh"

template <bool WHOLE>
__device__ __forceinline__ void gather_run(const Context& c, const Page& p, RunState& w) {
  i64 from = w.run * RUN;
  PackedSources sources = packed_sources(p, w.run);
  PackedEdges values = packed_edges(p, w.run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (!WHOLE && (base + STEP <= w.begin || base >= w.end)) continue;  // all of another page
    SegmentStarts s = find_starts<WHOLE>(c, w, base);
    u32 ids[4];
    Edge edges[4];
    Accumulator x[4];
    unpack_sources(sources, k, s, ids, c.n - 1);
    if (values.packed) unpack_values(values, k, edges); else raw_edges<WHOLE>(p, w.begin, w.end, e, edges);
    gather_edges<WHOLE>(c, w, s, e, ids, edges, x);
    reduce_segments(c, w, s, e, x);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_packed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (run * RUN >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  if (w.end - w.begin == RUN) gather_run<true>(c, p, w); else gather_run<false>(c, p, w);
  flush_run(c, w);
}
