// For each search whose bit is in left_v, but no longer in value_v: set it in the planes of the level's digits, of which
// plane j has n words from planes[j n] on (executor/cpu/levels.py). noted |= these bits of every vertex.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) note_levels(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u64 bits = v < p.last_vertex ? p.left[v] & ~(u64)c.values[v] : 0;
  if (bits) {
    i64 at = v;
    for (u32 digits = p.level; digits; digits >>= 1, at += c.n)
      if (digits & 1) p.planes[at] |= bits;
  }
  bits = warp_reduce(bits, [](u64 a, u64 b) { return a | b; });
  if (lane_id() == 0 && bits & ~ld_cg(p.noted)) atomicOr(p.noted, bits);
}
