// starts[e] = 1 where edge e is the first of its destination: an eighth of a byte an edge instead of the paper's 16-bit
// offset (section 2.1), from which a warp gets every edge's destination by counting bits.
// Launch: a thread a vertex. Shared memory: none.

extern "C" __global__ void mark_starts(const i64* offsets, i64 n, u32* starts) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v < n && offsets[v] < offsets[v + 1]) atomicOr(&starts[offsets[v] >> 5], 1u << (offsets[v] & 31));
}
