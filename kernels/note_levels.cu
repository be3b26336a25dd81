// For each search whose bit is in left_v, but no longer in value_v: set it in the planes of the level's digits, of which
// plane j has n words from planes[j n] on (executor/cpu/levels.py). noted |= these bits of every vertex.
// Then left_v = value_v if `is_last`: there may be more planes, which have the next digits.
// Launch: one thread for each vertex. Shared memory: none.
#include "garaph_generated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
note_levels(const u64* values, u64* left, u64* planes, u64* noted, i64 n, u32 level, u32 is_last) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u64 before = v < n ? left[v] : 0, bits = v < n ? before & ~values[v] : 0;
  if (bits) {
    if (is_last) left[v] = before ^ bits;
    i64 at = v;
    for (u32 digits = level; digits; digits >>= 1, at += n)
      if (digits & 1) planes[at] |= bits;
  }
  bits = warp_reduce(bits, [](u64 a, u64 b) { return a | b; });
  if (lane_id() == 0 && bits & ~ld_cg(noted)) atomicOr(noted, bits);
}
