// A warp sums the contributions of a run of 1024 edges by destination, in registers.
//
// The warp takes STEP = 128 edges at a time, four consecutive ones per lane. The bits in `starts` say at which edges a
// new destination begins. Each lane sums its own four edges. A segmented scan over the lanes adds up the sums of a
// destination whose edges are in several lanes. `carry` hands the sum of the last destination, which may have more
// edges, to the next 128. The warp writes a destination's sum to sums[rank]. If a destination began in an earlier run,
// the warp writes the sum of its edges in this run to heads[run]; apply_vertices, or sum_hubs before it, adds that.
#pragma once

#include "edges.cuh"

constexpr int STEP = 128;

// Where a warp is in its run.
struct RunPlace {
  i64 run;         // the number of the run
  i64 begin, end;  // its edges that belong to this page
  u32 rank;        // rank of the first destination that begins in the run
  u32 seen;        // destinations that have begun so far in the run
};

// The progress of a warp in its run.
struct RunState : RunPlace {
  Accumulator carry;  // sum so far of the last of these, or, if seen == 0, of the one that began in an earlier run
};

// Where destinations begin among 128 edges, for one lane.
struct SegmentStarts {
  u32 mine;      // bit j: a destination begins at edge j of the lane's four
  u32 before;    // destinations of the run that begin before the lane's edges
  u32 all;       // destinations of the run that begin before the next 128 edges
  int distance;  // how far below this lane the nearest lane is in which a destination begins (0: this one), or lane 0
  bool any;      // whether a destination begins in this lane or one below
};

__device__ __forceinline__ RunPlace beginning_of(const Context& c, const Page& p, i64 run) {
  i64 from = run * RUN;
  u32 rank = from < p.first_edge ? p.first_rank : c.run_ranks[run];
  return {run, max(from, p.first_edge), min(from + RUN, p.last_edge), rank, 0};
}

// The state of a warp at the beginning of `run`.
__device__ __forceinline__ RunState run_state(const Context& c, const Page& p, i64 run) {
  return {beginning_of(c, p, run), identity(c.parameters)};
}

// A word with the bits [first, last) set; the bounds may be outside [0, 32].
__device__ __forceinline__ u32 bits_between(i64 first, i64 last) {
  u32 from = first <= 0 ? FULL_MASK : first >= 32 ? 0 : ~lanes_below(first);
  u32 to = last <= 0 ? 0 : last >= 32 ? FULL_MASK : lanes_below(last);
  return from & to;
}

// Find where destinations begin among the 128 edges from `base` on. Unless WHOLE, edges outside the page are ignored.
template <bool WHOLE>
__device__ __forceinline__ SegmentStarts find_starts(const Context& c, const RunPlace& w, i64 base) {
  int lane = lane_id();
  i64 e = base + 4 * lane;
  u32 own = c.starts[e >> 5];  // the word with the lane's bits
  if constexpr (!WHOLE) own &= bits_between(w.begin - (e & ~31ll), w.end - (e & ~31ll));
  SegmentStarts s{0, w.seen, w.seen, 0, false};
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int begun = __popc(warp_shfl(own, 8 * k));
    s.all += begun;
    s.before += k < lane >> 3 ? begun : 0;
  }
  s.before += __popc(own & lanes_below(4 * lane & 31));
  s.mine = own >> (4 * lane & 31) & 15;
  u32 upto = __ballot_sync(FULL_MASK, s.mine != 0) & (lanes_below(lane) | 1u << lane);
  s.any = upto != 0;
  s.distance = s.any ? lane - (31 - __clz(upto)) : lane;
  return s;
}

// Sum `x` over the lanes from the nearest one in which a destination begins up to this lane, or over every EACH-th of
// them. If no destination begins in this lane or one below, the sum starts with `carry`.
template <int EACH = 1, class T, class Sum>
__device__ __forceinline__ T scan_segments(int distance, bool any, T x, T carry, Sum sum) {
#pragma unroll
  for (int step = EACH; step < 32; step <<= 1) {
    T other = warp_shfl_up(x, step);
    if (step <= distance) x = sum(other, x);
  }
  return any ? x : sum(carry, x);
}

// The value of `x` in the lane EACH below; `carry` for the first lanes.
template <int EACH = 1, class T>
__device__ __forceinline__ T carry_in(T x, T carry) {
  T below = warp_shfl_up(x, EACH);
  return lane_id() < EACH ? carry : below;
}

// The contributions of the lane's four edges, from `e` on.
template <bool WHOLE>
__device__ __forceinline__ void gather_edges(
    const Context& c, const RunState& w, const SegmentStarts& s, i64 e, const u32* sources, const Edge* edges,
    Accumulator* x) {
  u32 rank = w.rank + s.before - 1;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if constexpr (READS_DST) rank += s.mine >> j & 1;
    // The sum starts with the identity, as on the CPU: so min drops a NaN, and logical_or turns 5 into 1.
    x[j] = identity(c.parameters);
    if (WHOLE || (e + j >= w.begin && e + j < w.end)) x[j] = combine(x[j], contribution(c, sources[j], edges[j], rank));
  }
}

// Write the sum of the destination whose edges end before edge `e`. `before` destinations of the run begin before `e`.
__device__ __forceinline__ void flush_segment(const Context& c, const RunState& w, i64 e, u32 before, Accumulator sum) {
  if (before > 0)
    c.sums[w.rank + before - 1] = sum;
  else if (e > w.begin)
    c.heads[w.run] = sum;
}

// Sum the contributions of 128 edges, four per lane from `e` on, and write the sums that are complete.
__device__ __forceinline__ void reduce_segments(
    const Context& c, RunState& w, const SegmentStarts& s, i64 e, const Accumulator* x) {
  Accumulator open = x[0];   // sum since the last destination that began in this lane
  Accumulator first = x[0];  // sum before the first destination that begins in this lane
  u32 closed = s.before + (s.mine & 1);
#pragma unroll
  for (int j = 1; j < 4; j++) {
    if (s.mine >> j & 1) {
      if (s.mine & lanes_below(j)) flush_segment(c, w, e + j, closed, open); else first = open;
      closed++;
      open = x[j];
    } else {
      open = combine(open, x[j]);
    }
  }
  Accumulator sum = scan_segments(s.distance, s.any, open, w.carry, combine);
  Accumulator before = carry_in(sum, w.carry);
  if (s.mine) flush_segment(c, w, e + __ffs(s.mine) - 1, s.before, s.mine & 1 ? before : combine(before, first));
  w.carry = warp_shfl(sum, 31);
  w.seen = s.all;
}

// Write the sum of the run's last destination.
__device__ __forceinline__ void flush_run(const Context& c, const RunState& w) {
  if (lane_id() == 0) flush_segment(c, w, w.end, w.seen, w.carry);
}
