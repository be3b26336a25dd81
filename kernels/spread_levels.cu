// A byte for each vertex and search: the level of which `depth` planes have the bits, at most 7; -1 for a bit that is
// still in value_v. Vertex u of [first, last) has `words` words from table[(u - first) words] on; v is the GPU's number
// of u. `positions` has these numbers, and is null if they are the user's.
// Launch: one thread for each vertex. Shared memory: none.
#include "garaph_generated.cuh"

constexpr int DIGITS = 7;  // planes of a level that fits a byte with a sign

// Eight bytes of 0 or 1: the eight bits of byte k of `bits`, the top one first.
__device__ __forceinline__ u64 ones_of(u64 bits, int k) {
  return ((bits >> 8 * k & 0xFF) * 0x8040201008040201ull & 0x8080808080808080ull) >> 7;
}

extern "C" __global__ void __launch_bounds__(THREADS) spread_levels(
    const u64* values, const u32* positions, const u64* planes, u64* table, i64 first, i64 last, i64 n, u32 depth,
    u32 words) {
  i64 u = first + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (u >= last) return;
  i64 v = positions ? positions[u] : u;
  u64 unreached = values[v], digits[DIGITS];
#pragma unroll
  for (int j = 0; j < DIGITS; j++) digits[j] = j < depth ? planes[j * n + v] : 0;
  u64* row = table + (u - first) * words;
  for (int k = 0; k < words; k++) {
    u64 word = ones_of(unreached, k) * 0xFF;
#pragma unroll
    for (int j = 0; j < DIGITS; j++) word |= ones_of(digits[j], k) << j;
    row[k] = word;
  }
}
