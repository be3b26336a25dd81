// acc_v = sum over u -> v of gather(u), by segmented reductions in registers, without atomics, and in the same order in
// every run. This is not in the paper. Edges are sorted by destination, so most consecutive edges share a destination.
// Launch: one warp for each run of the page. Shared memory: none.
#include "segments.cuh"

// Sum the contributions of the 128 edges from `base` on.

template <bool WHOLE>
__device__ __forceinline__ void step(const Context& c, const Page& p, RunState& w, i64 base, uint4 ids) {
  i64 e = base + 4 * lane_id();
  SegmentStarts s = find_starts<WHOLE>(c, w, base);
  u32 sources[4] = {ids.x, ids.y, ids.z, ids.w};
  Edge edges[4];
  Accumulator x[4];
  raw_edges<WHOLE>(p, w.begin, w.end, e, edges);
  gather_edges<WHOLE>(c, w, s, e, sources, edges, x);
  reduce_segments(c, w, s, e, x);
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_segmented(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  const uint4* sources = (const uint4*)(p.sources + (from - p.base_edge)) + lane_id();
  if (w.end - w.begin == RUN) {
    for (int k = 0; k < RUN / STEP; k++) step<true>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  } else {
    for (int k = 0; k < RUN / STEP; k++)
      if (from + (k + 1) * STEP > w.begin && from + k * STEP < w.end)
        step<false>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  }
  flush_run(c, w);
}
