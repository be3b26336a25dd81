// Packed numbers (docs/packed.md): 32 of a group at one width, a record a run of 1024.

struct Record {
  i64 first_word, base;
  unsigned char widths[RUN / 32];
};

// A run's groups, lane g's the width of group g and the words before it.
struct Groups {
  const u32* words;
  int width, before;
};

__device__ __forceinline__ Groups groups_of(const Record* record, const u32* words, i64 first_word) {
  int width = record->widths[lane_id()], upto = width;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    int other = from_below(upto, step);
    if (step <= lane_id()) upto += other;
  }
  return {words + (record->first_word - first_word), width, upto - width};
}

// The lane's four of the 128 numbers in groups 4 k to 4 k + 3, eight lanes a group. Reads no word but the group's.
__device__ __forceinline__ void four_numbers(const Groups& groups, int k, u32* x) {
  int lane = lane_id(), group = 4 * k + (lane >> 3);
  u32 width = from_lane(groups.width, group), bit = (lane & 7) * 4 * width, shift = bit & 31, mask;
  const u32* at = groups.words + from_lane(groups.before, group) + (bit >> 5);
  u32 word[5], bits[4];
#pragma unroll
  for (int j = 0; j < 5; j++) word[j] = shift + 4 * width > 32 * j ? at[j] : 0;
#pragma unroll
  for (int j = 0; j < 4; j++) bits[j] = __funnelshift_r(word[j], word[j + 1], shift);
  mask = __funnelshift_rc(EVERYONE, 0, 32 - width);
  x[0] = bits[0] & mask;
#pragma unroll
  for (int n = 1; n < 4; n++) {
#pragma unroll
    for (int j = 0; j < 4 - n; j++) bits[j] = __funnelshift_rc(bits[j], bits[j + 1], width);
    x[n] = bits[0] & mask;
  }
}
