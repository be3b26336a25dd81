// Set bit e of `starts` if edge e is the first of its destination. A warp finds the destination of an edge by counting
// these bits; the paper stores a 16-bit offset for each edge instead (section 2.1).
// Launch: one thread for each vertex. Shared memory: none.
#include "offsets.cuh"

extern "C" __global__ void mark_starts(const u32* begins, i64 n, i64 wraps, u32* starts) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v >= n) return;
  Offsets offsets{begins, n, wraps};
  i64 begin = offsets[v];
  if (begin < offsets[v + 1]) atomicOr(&starts[begin >> 5], 1u << (begin & 31));
}
