// The sources in the list of a vertex, packed or not. The first number of a packed list is a source, and each of the others
// is the gap to the next one. So a list is read from its beginning, or from an edge before which the gaps of the same run
// are added up.
#pragma once

#include "edges.cuh"
#include "packed.cuh"

// What is stored of edge `e`: its source, or, if sources are packed and the edge is not the first of its list, how much
// larger it is than the source before. For kernels that push from lists, some edges may be in host memory.
__device__ __forceinline__ u32 stored_source(const Page& p, i64 e) {
  if (p.records) {
    const u32* words = is_here(p, e) ? p.words - p.first_word : p.mapped_words;
    return unpack_one(p.records + (e / RUN - p.base_edge / RUN), words, e % RUN);
  }
  return is_here(p, e) ? p.sources[e - p.base_edge] : p.mapped_sources[e];
}

// The source of edge `e`, where `before` is that of the edge before it in the same list, or 0. No source of a packed list
// exceeds the last vertex, even if the words are damaged.
__device__ __forceinline__ u32 next_source(const Context& c, const Page& p, i64 e, u32 before) {
  u32 stored = stored_source(p, e);
  return p.records ? min(before + stored, (u32)c.n - 1) : stored;
}

// The sources of a row of 32 packed edges, of which each lane has one: `stored`, or 0 in a lane without an edge. Its list
// begins in lane `head`, or in an earlier row if `head` is below 0; `carry` is the last source of the row before, and
// afterwards of this one. All lanes of a warp must call it.
__device__ __forceinline__ u32 source_in_row(const Context& c, u32 stored, int head, u32& carry) {
  u32 sum = stored;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    u32 other = __shfl_up_sync(FULL_MASK, sum, s);
    if (lane_id() >= s) sum += other;
  }
  u32 others = __shfl_sync(FULL_MASK, sum - stored, max(head, 0));  // of the lists before, in this row
  u32 source = head < 0 ? carry + sum : sum - others;
  carry = __shfl_sync(FULL_MASK, source, 31);
  return min(source, (u32)c.n - 1);
}

// The source before edge `e` of a list that begins with edge `begin`; 0 if `e` does, or if sources are not packed. All
// lanes of a warp must call it.
__device__ __forceinline__ u32 source_before(const Page& p, i64 begin, i64 e) {
  if (!p.records || e == begin) return 0;
  i64 run = e / RUN, first = run * RUN;
  u32 sum = 0;
#pragma unroll 4
  for (i64 k = max(begin, first) + lane_id(); k < e; k += 32) sum += stored_source(p, k);
  sum = warp_reduce(sum, [](u32 a, u32 b) { return a + b; });
  return begin < first ? sum + (u32)p.records[run - p.base_edge / RUN].base : sum;
}
