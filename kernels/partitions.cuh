// Partitions of the vertices, for HyTGraph: each is a multiple of 32 vertices, but for the last.
#pragma once

#include "pieces.cuh"

constexpr u32 NOT_LISTED = 0xFFFFFFFFu;  // in `to_queue`: the partition's vertices are not listed

// The partition with vertex `v`.
__device__ __forceinline__ int partition_of(const Context& c, i64 v) {
  int low = 0, high = c.partition_count;  // it is in [low, high)
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (c.partition_table[middle].first_vertex <= v) low = middle;
    else high = middle;
  }
  return low;
}

// For each vertex of the frontier with out-edges, in each partition for which wanted(partition) holds: call
// visit(partition, v, begin, end, is_active). The lanes of a warp have the 32 vertices of a word; all of them call it,
// for each word with such a vertex. Needs one thread for each word of the frontier.
template <class Want, class Visit>
__device__ __forceinline__ void visit_active(const Context& c, Want wanted, Visit visit) {
  i64 word = blockIdx.x * (i64)blockDim.x + threadIdx.x, first = word - lane_id();
  u32 mine = word < (c.n + 31) / 32 ? c.frontier[word] : 0;
  int partition = mine ? partition_of(c, word * 32) : 0;
  if (mine && !wanted(partition)) mine = 0;
  for (u32 rest = __ballot_sync(FULL_MASK, mine); rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 v = (first + lane) * 32 + lane_id(), begin = 0, end = 0;
    if (__shfl_sync(FULL_MASK, mine, lane) >> lane_id() & 1) begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
    visit(__shfl_sync(FULL_MASK, partition, lane), v, begin, end, end > begin);
  }
}
