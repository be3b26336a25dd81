// acc_v = sum over u -> v of gather(u), as gather_segmented has it, from packed sources: a lane takes four gaps out of
// their words, and a segmented scan over the lanes makes sources of them.
// Launch: a warp a run of the page, blocks of 256. Shared memory: none.

// The sources of the lane's four edges among 128, `most` at most whatever the words are; `carry` is the source before them,
// and then the last of them.
__device__ __forceinline__ void sources_of(const Starts& s, u32* x, u32& carry, u32 most) {
#pragma unroll
  for (int j = 1; j < 4; j++)
    if (!(s.mine >> j & 1)) x[j] += x[j - 1];
  u32 last = scan_segments(s, x[3], carry, [](u32 a, u32 b) { return a + b; });
  u32 before = entering(last, carry);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (!(s.mine & lanes_below(j + 1))) x[j] += before;
    x[j] = min(x[j], most);
  }
  carry = from_lane(last, 31);
}

template <bool WHOLE>
__device__ __forceinline__ void gather_run(const Context& c, const Page& p, Walk& w) {
  i64 from = w.run * RUN;
  const Record* record = p.records + (w.run - p.base_edge / RUN);
  Groups sources = groups_of(record, p.words, p.first_word);
  u32 carry = (u32)record->base;
  PackedValues values = packed_values(p, w.run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (!WHOLE && (base + STEP <= w.begin || base >= w.end)) continue;  // a page begins with a destination: no carry
    Starts s = starts_of<WHOLE>(c, w, base);
    u32 ids[4];
    Edge edges[4];
    Accumulator x[4];
    four_numbers(sources, k, ids);
    sources_of(s, ids, carry, c.n - 1);
    if (values.packed) four_values(values, k, edges); else raw_values<WHOLE>(p, w.begin, w.end, e, edges);
    contribute<WHOLE>(c, w, s, e, ids, edges, x);
    reduce(c, w, s, e, x);
  }
}

extern "C" __global__ void __launch_bounds__(256) gather_packed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
  if (run * RUN >= p.last_edge) return;
  Walk w = walk_of(c, p, run);
  if (w.end - w.begin == RUN) gather_run<true>(c, p, w); else gather_run<false>(c, p, w);
  end_walk(c, w);
}
