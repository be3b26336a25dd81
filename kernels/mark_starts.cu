// Set bit e of `starts` if edge e is the first of its destination. A warp finds the destination of an edge by counting
// these bits; the paper stores a 16-bit offset for each edge instead (section 2.1).
// Launch: one thread for each vertex. Shared memory: none.
#include "words.cuh"

extern "C" __global__ void mark_starts(const i64* offsets, i64 n, u32* starts) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < n && offsets[v] < offsets[v + 1]) atomicOr(&starts[offsets[v] >> 5], 1u << (offsets[v] & 31));
}
