// A warp sums the contributions of a run by destination, as in segments.cuh, where values are rows.
//
// Of 128 edges each group of lanes (rows.cuh) takes the consecutive ones that its own lanes hold, one by one, and each
// lane sums one column. A segmented scan over the groups adds up the sums of a destination whose edges several groups
// have.
#pragma once

#include "rows.cuh"
#include "segments.cuh"

constexpr int ROWS_AT_ONCE = 8;  // rows of a group whose loads are in flight at a time; a multiple of 4

// What the edge from `source` contributes to the lane's column.
__device__ __forceinline__ ColumnAccumulator column_contribution(
    const Context& c, const ColumnParameters& own, ColumnValue value, u32 source, Edge edge, u32 rank) {
  ColumnValue dst{};
  if constexpr (READS_DST) dst = column_at(c.values, c.destinations[rank]);
  return gather_column(own, value, edge, dst, source);
}

// Write the lane's column of the sum of the destination whose edges end before edge `e`. `before` destinations of the
// run begin before `e`.
__device__ __forceinline__ void flush_row(
    const Context& c, const RunPlace& w, i64 e, u32 before, ColumnAccumulator sum) {
  if (!has_column()) return;
  if (before > 0)
    sum_at(c.sums, w.rank + before - 1) = sum;
  else if (e > w.begin)
    sum_at(c.heads, w.run) = sum;
}

// Sum the contributions of the 128 edges from `base` on, of which each lane holds four, and write the sums that are
// complete. `carry` is the lane's column of the sum so far of the run's last destination. Unless WHOLE, edges outside
// the page are ignored.
template <bool WHOLE>
__device__ __forceinline__ void sum_rows(
    const Context& c, RunPlace& w, const SegmentStarts& s, i64 base, const u32* sources, const Edge* edges,
    const ColumnParameters& own, ColumnAccumulator& carry) {
  int lane = lane_id(), leader = first_of_group();
  i64 e = base + 4 * leader;  // the group's first edge
  u32 before = warp_shfl(s.before, leader), closed = before;
  ColumnAccumulator none = identity_column(own);
  ColumnAccumulator open = none;   // sum since the last destination that began in this group
  ColumnAccumulator first = none;  // sum before the first destination that begins in this group
  int begun_at = 0;                // where that begins
  for (int q = 0; q < 4 * ROW_LANES; q += ROWS_AT_ONCE) {
    u32 from[ROWS_AT_ONCE];
    Edge by[ROWS_AT_ONCE];
    ColumnValue values[ROWS_AT_ONCE];
    u32 starts = 0;
#pragma unroll
    for (int j = 0; j < ROWS_AT_ONCE; j++) {
      int holder = leader + (q + j) / 4;
      if (j % 4 == 0) starts |= warp_shfl(s.mine, holder) << j;
      from[j] = warp_shfl(sources[j % 4], holder);
      by[j] = Edge{};
      if constexpr (READS_EDGES) by[j] = warp_shfl(edges[j % 4], holder);
      values[j] = ColumnValue{};
      if (WHOLE || (e + q + j >= w.begin && e + q + j < w.end)) values[j] = column_at(c.values, from[j]);
    }
#pragma unroll
    for (int j = 0; j < ROWS_AT_ONCE; j++) {
      if (starts >> j & 1) {
        if (closed > before) flush_row(c, w, e + q + j, closed, open); else first = open, begun_at = q + j;
        closed++;
        open = none;
      }
      if (WHOLE || (e + q + j >= w.begin && e + q + j < w.end))
        open = combine_column(open, column_contribution(c, own, values[j], from[j], by[j], w.rank + closed - 1));
    }
  }
  bool begins = closed > before;
  u32 upto = __ballot_sync(FULL_MASK, begins) & (lanes_below(lane) | 1u << lane);
  int distance = upto ? leader - (31 - __clz(upto) & -ROW_LANES) : leader;
  ColumnAccumulator sum = scan_segments<ROW_LANES>(distance, upto != 0, open, carry, combine_column);
  ColumnAccumulator entering = carry_in<ROW_LANES>(sum, carry);
  if (begins) flush_row(c, w, e + begun_at, before, begun_at ? combine_column(entering, first) : entering);
  carry = warp_shfl(sum, 32 - ROW_LANES + (lane & ROW_LANES - 1));
  w.seen = s.all;
}

// Write the sum of the run's last destination.
__device__ __forceinline__ void flush_last_row(const Context& c, const RunPlace& w, ColumnAccumulator carry) {
  if (group_of_lane() == 0) flush_row(c, w, w.end, w.seen, carry);
}
