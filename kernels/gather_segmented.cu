// acc_v = sum over u -> v of gather(u), with segmented reductions in registers: no shared memory, no atomics, and the
// same order of sums every time. Beyond the paper: destinations are sorted, so an edge's neighbours mostly share its own.
// Launch: a warp a run of the page, blocks of 256. Shared memory: none.

template <bool WHOLE>
__device__ __forceinline__ void step(const Context& c, const Page& p, Walk& w, i64 base, uint4 ids) {
  i64 e = base + 4 * lane_id();
  Starts s = starts_of<WHOLE>(c, w, base);
  u32 sources[4] = {ids.x, ids.y, ids.z, ids.w};
  Edge edges[4];
  Accumulator x[4];
  raw_values<WHOLE>(p, w.begin, w.end, e, edges);
  contribute<WHOLE>(c, w, s, e, sources, edges, x);
  reduce(c, w, s, e, x);
}

extern "C" __global__ void __launch_bounds__(256) gather_segmented(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  Walk w = walk_of(c, p, run);
  const uint4* sources = (const uint4*)(p.sources + (from - p.base_edge)) + lane_id();
  if (w.end - w.begin == RUN) {
    for (int k = 0; k < RUN / STEP; k++) step<true>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  } else {
    for (int k = 0; k < RUN / STEP; k++)
      if (from + (k + 1) * STEP > w.begin && from + k * STEP < w.end)
        step<false>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  }
  end_walk(c, w);
}
