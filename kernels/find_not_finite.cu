// Which fields of the values have numbers that are not finite: not_finite |= the bits of every value (see
// `not_finite_bits` in the generated header).
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) find_not_finite(const __grid_constant__ Task t) {
  const Context& c = t.context;
  u64* found = t.page.not_finite;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u64 bits = v < t.page.last_vertex ? not_finite_bits(c.values[v]) : 0;
  bits = warp_reduce(bits, [](u64 a, u64 b) { return a | b; });
  if (lane_id() == 0 && bits && bits & ~ld_cg(found)) atomicOr(found, bits);  // many vertices may have the same bits
}
