// Decode the packed sources of a run: each lane unpacks four gaps between sources, and a segmented scan over the lanes
// turns the gaps into sources.
#pragma once

#include "segments.cuh"

// The packed sources of a run, and the last one that has been decoded.
struct PackedSources {
  Groups groups;
  u32 carry;
};

// Empty if the page's sources are raw.
__device__ __forceinline__ PackedSources packed_sources(const Page& p, i64 run) {
  PackedSources sources{};
  if (p.records) {
    const Record* record = p.records + (run - p.base_edge / RUN);
    sources = {groups_of(record, p.words, p.first_word), (u32)record->base};
  }
  return sources;
}

// Turn the lane's four gaps `x` into sources. `carry` is the source before the 128 edges, and afterwards their last.
// No source exceeds `most`, even if the packed words are damaged.
__device__ __forceinline__ void decode_sources(const SegmentStarts& s, u32* x, u32& carry, u32 most) {
#pragma unroll
  for (int j = 1; j < 4; j++)
    if (!(s.mine >> j & 1)) x[j] += x[j - 1];
  u32 last = scan_segments(s.distance, s.any, x[3], carry, [](u32 a, u32 b) { return a + b; });
  u32 before = carry_in(last, carry);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (!(s.mine & lanes_below(j + 1))) x[j] += before;
    x[j] = min(x[j], most);
  }
  carry = warp_shfl(last, 31);
}

// The sources of the lane's four edges among the 128 of step `k`. The steps must be taken in order.
__device__ __forceinline__ void unpack_sources(PackedSources& from, int k, const SegmentStarts& s, u32* x, u32 most) {
  unpack_four(from.groups, k, x);
  decode_sources(s, x, from.carry, most);
}
