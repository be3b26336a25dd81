// acc_v = sum over u -> v of gather(u), with segmented reductions in registers: no shared memory, no atomics, and the
// same order of sums every time. Beyond the paper: destinations are sorted, so an edge's neighbours mostly share its own.
//
// A warp takes a run of 1024 edges, 128 at a time: four consecutive ones a lane, their bits in `starts` say where the
// next destination begins. A lane sums what it holds, a segmented scan over the lanes' open sums joins them, and `carry`
// takes the open sum to the next 128. A destination's sum goes to sums[rank]; the part of one that began in an earlier run
// goes to heads[run], and apply_vertices, or sum_hubs before it, adds it.
// Launch: a warp a run of the page, blocks of 256. Shared memory: none.

constexpr int STEP = 128;

struct Walk {
  i64 run, begin, end;  // its edges in this page
  u32 rank;             // of the first destination to begin in it
  u32 seen;             // destinations that began so far
  Accumulator carry;    // of the open destination
};

__device__ __forceinline__ void close(const Context& c, const Walk& w, i64 e, u32 before, Accumulator sum) {
  if (before > 0)
    c.sums[w.rank + before - 1] = sum;
  else if (e > w.begin)
    c.heads[w.run] = sum;
}

// The bits from `first` to before `last` of a word, of which some may lie outside.
__device__ __forceinline__ u32 bits_between(i64 first, i64 last) {
  u32 from = first <= 0 ? EVERYONE : first >= 32 ? 0 : ~lanes_below(first);
  u32 to = last <= 0 ? 0 : last >= 32 ? EVERYONE : lanes_below(last);
  return from & to;
}

template <bool WHOLE>
__device__ __forceinline__ void step(const Context& c, const Page& p, Walk& w, i64 base, uint4 ids) {
  int lane = lane_id();
  i64 e = base + 4 * lane;
  u32 own = c.starts[e >> 5];         // the word with the lane's bits
  u32 before = w.seen, all = w.seen;  // destinations that began before the lane's edges, and in all
  if constexpr (!WHOLE) own &= bits_between(w.begin - (e & ~31ll), w.end - (e & ~31ll));
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int begun = __popc(from_lane(own, 8 * k));
    all += begun;
    before += k < lane >> 3 ? begun : 0;
  }
  before += __popc(own & lanes_below(4 * lane & 31));
  u32 mine = own >> (4 * lane & 31) & 15;
  u32 sources[4] = {ids.x, ids.y, ids.z, ids.w};
  Accumulator x[4];
  u32 rank = w.rank + before - 1;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if constexpr (READS_DST) rank += mine >> j & 1;
    x[j] = identity(c.parameters);  // summed first, as on the CPU: a NaN is then dropped by min, 5 is 1 for logical_or
    if (WHOLE || (e + j >= w.begin && e + j < w.end)) x[j] = combine(x[j], contribution(c, p, e + j, sources[j], rank));
  }
  Accumulator open = x[0], first = x[0];  // the sum since the last start, and that before the lane's first
  u32 closed = before + (mine & 1);
#pragma unroll
  for (int j = 1; j < 4; j++) {
    if (mine >> j & 1) {
      if (mine & lanes_below(j)) close(c, w, e + j, closed, open); else first = open;
      closed++;
      open = x[j];
    } else {
      open = combine(open, x[j]);
    }
  }
  u32 starting = __ballot_sync(EVERYONE, mine != 0);
  u32 upto = starting & (lanes_below(lane) | 1u << lane);
  int distance = upto ? lane - (31 - __clz(upto)) : lane;
  Accumulator sum = open;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    Accumulator other = from_below(sum, s);
    if (s <= distance) sum = combine(other, sum);
  }
  if (!upto) sum = combine(w.carry, sum);
  Accumulator entering = from_below(sum, 1);
  if (lane == 0) entering = w.carry;
  if (mine) close(c, w, e + __ffs(mine) - 1, before, mine & 1 ? entering : combine(entering, first));
  w.carry = from_lane(sum, 31);
  w.seen = all;
}

extern "C" __global__ void __launch_bounds__(256) gather_segmented(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  Walk w{run, max(from, p.first_edge), min(from + RUN, p.last_edge), 0, 0, identity(c.parameters)};
  w.rank = from < p.first_edge ? p.first_rank : c.run_ranks[run];
  const uint4* sources = (const uint4*)(p.sources + (from - p.base_edge)) + lane_id();
  if (w.end - w.begin == RUN) {
    for (int k = 0; k < RUN / STEP; k++) step<true>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  } else {
    for (int k = 0; k < RUN / STEP; k++)
      if (from + (k + 1) * STEP > w.begin && from + k * STEP < w.end)
        step<false>(c, p, w, from + k * STEP, __ldcs(sources + 32 * k));
  }
  if (lane_id() == 0) close(c, w, w.end, w.seen, w.carry);
}
