// acc_v = sum over u -> v of gather(u), as in gather_segmented, from packed sources: each lane unpacks four gaps
// between sources, and a segmented scan over the lanes turns the gaps into sources.
// Launch: one warp for each run of the page. Shared memory: none.
#include "segments.cuh"

// Turn the lane's four gaps `x` into sources. `carry` is the source before the 128 edges, and afterwards their last.
// No source exceeds `most`, even if the packed words are damaged.
__device__ __forceinline__ void decode_sources(const SegmentStarts& s, u32* x, u32& carry, u32 most) {
#pragma unroll
  for (int j = 1; j < 4; j++)
    if (!(s.mine >> j & 1)) x[j] += x[j - 1];
  u32 last = scan_segments(s, x[3], carry, [](u32 a, u32 b) { return a + b; });
  u32 before = carry_in(last, carry);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (!(s.mine & lanes_below(j + 1))) x[j] += before;
    x[j] = min(x[j], most);
  }
  carry = warp_shfl(last, 31);
}

template <bool WHOLE>
__device__ __forceinline__ void gather_run(const Context& c, const Page& p, RunState& w) {
  i64 from = w.run * RUN;
  const Record* record = p.records + (w.run - p.base_edge / RUN);
  Groups sources = groups_of(record, p.words, p.first_word);
  u32 carry = (u32)record->base;
  PackedEdges values = packed_edges(p, w.run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (!WHOLE && (base + STEP <= w.begin || base >= w.end)) continue;  // all of another page
    SegmentStarts s = find_starts<WHOLE>(c, w, base);
    u32 ids[4];
    Edge edges[4];
    Accumulator x[4];
    unpack_four(sources, k, ids);
    decode_sources(s, ids, carry, c.n - 1);
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
