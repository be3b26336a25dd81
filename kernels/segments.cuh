// A warp sums a run of 1024 edges by destination, in registers, 128 edges at a time: four consecutive ones a lane.
//
// Their bits in `starts` say where the next destination begins. A lane sums what it holds, a segmented scan over the lanes'
// open sums joins them, and `carry` takes the open sum to the next 128. A destination's sum goes to sums[rank]; the part of
// one that began in an earlier run goes to heads[run], and apply_vertices, or sum_hubs before it, adds it.

constexpr int STEP = 128;

struct Walk {
  i64 run, begin, end;  // its edges in this page
  u32 rank;             // of the first destination to begin in it
  u32 seen;             // destinations that began so far
  Accumulator carry;    // of the open destination
};

// Where destinations begin among 128 edges, as a lane sees it.
struct Starts {
  u32 mine;      // a bit for each of its four edges
  u32 before;    // that began before its edges
  u32 all;       // that began before the next 128
  int distance;  // lanes down to the last in which one begins, itself among them, or to the first
  bool any;      // there is such a lane
};

__device__ __forceinline__ Walk walk_of(const Context& c, const Page& p, i64 run) {
  i64 from = run * RUN;
  Walk w{run, max(from, p.first_edge), min(from + RUN, p.last_edge), 0, 0, identity(c.parameters)};
  w.rank = from < p.first_edge ? p.first_rank : c.run_ranks[run];
  return w;
}

// The bits from `first` to before `last` of a word, of which some may lie outside.
__device__ __forceinline__ u32 bits_between(i64 first, i64 last) {
  u32 from = first <= 0 ? EVERYONE : first >= 32 ? 0 : ~lanes_below(first);
  u32 to = last <= 0 ? 0 : last >= 32 ? EVERYONE : lanes_below(last);
  return from & to;
}

// Of the 128 edges from `base` on; unless WHOLE, those outside the page do not count.
template <bool WHOLE>
__device__ __forceinline__ Starts starts_of(const Context& c, const Walk& w, i64 base) {
  int lane = lane_id();
  i64 e = base + 4 * lane;
  u32 own = c.starts[e >> 5];  // the word with the lane's bits
  if constexpr (!WHOLE) own &= bits_between(w.begin - (e & ~31ll), w.end - (e & ~31ll));
  Starts s{0, w.seen, w.seen, 0, false};
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int begun = __popc(from_lane(own, 8 * k));
    s.all += begun;
    s.before += k < lane >> 3 ? begun : 0;
  }
  s.before += __popc(own & lanes_below(4 * lane & 31));
  s.mine = own >> (4 * lane & 31) & 15;
  u32 upto = __ballot_sync(EVERYONE, s.mine != 0) & (lanes_below(lane) | 1u << lane);
  s.any = upto != 0;
  s.distance = s.any ? lane - (31 - __clz(upto)) : lane;
  return s;
}

// `x` summed from the last lane down in which a destination begins; before any does, from `carry` on.
template <class T, class Sum>
__device__ __forceinline__ T scan_segments(const Starts& s, T x, T carry, Sum sum) {
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    T other = from_below(x, step);
    if (step <= s.distance) x = sum(other, x);
  }
  return s.any ? x : sum(carry, x);
}

// What lane - 1 has; lane 0 gets `carry`.
template <class T>
__device__ __forceinline__ T entering(T x, T carry) {
  T below = from_below(x, 1);
  return lane_id() == 0 ? carry : below;
}

// What the lane's four edges, from `e` on, contribute.
template <bool WHOLE>
__device__ __forceinline__ void contribute(
    const Context& c, const Walk& w, const Starts& s, i64 e, const u32* sources, const Edge* edges, Accumulator* x) {
  u32 rank = w.rank + s.before - 1;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if constexpr (READS_DST) rank += s.mine >> j & 1;
    x[j] = identity(c.parameters);  // summed first, as on the CPU: a NaN is then dropped by min, 5 is 1 for logical_or
    if (WHOLE || (e + j >= w.begin && e + j < w.end)) x[j] = combine(x[j], contribution(c, sources[j], edges[j], rank));
  }
}

__device__ __forceinline__ void close(const Context& c, const Walk& w, i64 e, u32 before, Accumulator sum) {
  if (before > 0)
    c.sums[w.rank + before - 1] = sum;
  else if (e > w.begin)
    c.heads[w.run] = sum;
}

// Sum 128 edges' contributions, four a lane from `e` on, and leave what is complete.
__device__ __forceinline__ void reduce(const Context& c, Walk& w, const Starts& s, i64 e, const Accumulator* x) {
  Accumulator open = x[0], first = x[0];  // the sum since the last start, and that before the lane's first
  u32 closed = s.before + (s.mine & 1);
#pragma unroll
  for (int j = 1; j < 4; j++) {
    if (s.mine >> j & 1) {
      if (s.mine & lanes_below(j)) close(c, w, e + j, closed, open); else first = open;
      closed++;
      open = x[j];
    } else {
      open = combine(open, x[j]);
    }
  }
  Accumulator sum = scan_segments(s, open, w.carry, combine);
  Accumulator before = entering(sum, w.carry);
  if (s.mine) close(c, w, e + __ffs(s.mine) - 1, s.before, s.mine & 1 ? before : combine(before, first));
  w.carry = from_lane(sum, 31);
  w.seen = s.all;
}

__device__ __forceinline__ void end_walk(const Context& c, const Walk& w) {
  if (lane_id() == 0) close(c, w, w.end, w.seen, w.carry);
}
