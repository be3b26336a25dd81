// A byte for each vertex and search: the level of which `depth` planes have the bits, at most 7; -1 for a bit that is
// still in value_v. Vertex u has row_words words from table[(u - first) row_words] on, where v is the GPU's number of u.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

constexpr int DIGITS = 7;  // planes of a level that fits a byte with a sign

// Eight bytes of 0 or 1: the eight bits of byte k of `bits`, the top one first.
__device__ __forceinline__ u64 ones_of(u64 bits, int k) {
  return ((bits >> 8 * k & 0xFF) * 0x8040201008040201ull & 0x8080808080808080ull) >> 7;
}

extern "C" __global__ void __launch_bounds__(THREADS) spread_levels(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 u = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (u >= p.last_vertex) return;
  i64 v = c.positions ? c.positions[u] : u;
  u64 unreached = (u64)c.values[v], digits[DIGITS];
#pragma unroll
  for (int j = 0; j < DIGITS; j++) digits[j] = j < p.depth ? p.planes[j * c.n + v] : 0;
  u64* row = p.table + (u - p.first_vertex) * p.row_words;
  for (int k = 0; k < p.row_words; k++) {
    u64 word = ones_of(unreached, k) * 0xFF;
#pragma unroll
    for (int j = 0; j < DIGITS; j++) word |= ones_of(digits[j], k) << j;
    row[k] = word;
  }
}
