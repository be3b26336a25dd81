// Unpack numbers (docs/packed.md). The numbers of a group (GROUP of them) have the same width in bits. Each run (RUN
// numbers) has one record.
#pragma once

#include "garaph_generated.cuh"

// The positions of a run's groups. Lane g holds the width of group g, and the number of words before the group.
struct Groups {
  const u32* words;
  int width, before;
};

__device__ __forceinline__ Groups groups_of(const Record* record, const u32* words, i64 first_word) {
  int width = record->widths[lane_id()], upto = width;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    int other = warp_shfl_up(upto, step);
    if (step <= lane_id()) upto += other;
  }
  return {words + (record->first_word - first_word), width, upto - width};
}

// The number of words before a group of a run: the sum of the widths of the groups before it. Each instruction multiplies
// four widths by 1 or 0 and adds them up.
__device__ __forceinline__ int words_before(const Record* record, int group) {
  const uint4* widths = (const uint4*)record->widths;
  uint4 low = widths[0], high = widths[1];
  u32 four[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, before = 0;
#pragma unroll
  for (int j = 0; j < 8; j++)
    before = __dp4a(four[j], __funnelshift_lc(0x01010101u, 0u, max(8 * group - 32 * j, 0)), before);
  return before;
}

// Unpack number `k` of a run alone. `words` are those of the whole array.
__device__ __forceinline__ u32 unpack_one(const Record* record, const u32* words, int k) {
  int group = k / GROUP, width = record->widths[group], bit = k % GROUP * width;
  if (!width) return 0;
  const u32* at = words + record->first_word + words_before(record, group) + (bit >> 5);
  u32 low = at[0], high = (bit & 31) + width > 32 ? at[1] : 0;
  return __funnelshift_r(low, high, bit & 31) & __funnelshift_rc(FULL_MASK, 0, 32 - width);
}

// Unpack the 128 numbers in groups 4 k to 4 k + 3: four numbers for each lane, eight lanes for each group. Reads no
// words but the group's own.
__device__ __forceinline__ void unpack_four(const Groups& groups, int k, u32* x) {
  int lane = lane_id(), group = 4 * k + (lane >> 3);
  u32 width = warp_shfl(groups.width, group), bit = (lane & 7) * 4 * width, shift = bit & 31, mask;
  const u32* at = groups.words + warp_shfl(groups.before, group) + (bit >> 5);
  u32 word[5], bits[4];
#pragma unroll
  for (int j = 0; j < 5; j++) word[j] = shift + 4 * width > 32 * j ? at[j] : 0;
#pragma unroll
  for (int j = 0; j < 4; j++) bits[j] = __funnelshift_r(word[j], word[j + 1], shift);
  mask = __funnelshift_rc(FULL_MASK, 0, 32 - width);
  x[0] = bits[0] & mask;
#pragma unroll
  for (int n = 1; n < 4; n++) {
#pragma unroll
    for (int j = 0; j < 4 - n; j++) bits[j] = __funnelshift_rc(bits[j], bits[j + 1], width);
    x[n] = bits[0] & mask;
  }
}
