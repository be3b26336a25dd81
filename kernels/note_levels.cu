// For each search whose bit is in left_v, but no longer in value_v: set it in the planes of the level's digits, of which
// plane j has n words from planes[j n] on (executor/cpu/levels.py). noted |= these bits of every vertex.
// Launch: one thread for each vertex. Shared memory: none.
#include "garaph_generated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
note_levels(const u64* values, const u64* left, u64* planes, u64* noted, i64 n, u32 level) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u64 bits = v < n ? left[v] & ~values[v] : 0;
  if (bits) {
    i64 at = v;
    for (u32 digits = level; digits; digits >>= 1, at += n)
      if (digits & 1) planes[at] |= bits;
  }
  bits = warp_reduce(bits, [](u64 a, u64 b) { return a | b; });
  if (lane_id() == 0 && bits & ~ld_cg(noted)) atomicOr(noted, bits);
}
