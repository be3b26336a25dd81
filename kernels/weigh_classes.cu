// The edges of each class of vertices (parents.cuh), for programs that read no edge values.
// Launch: any number of threads; `class_edges` is 0 before. Shared memory: 4 KB.
#include "parents.cuh"

// Add the `edges` of each lane's vertex to the sum of its class. The lanes of a class share an atomic operation: most
// vertices are in a few classes. All lanes of a warp must call it.
__device__ __forceinline__ void add_to_class(u64* sums, u32 of, u64 edges) {
  for (u32 rest = __ballot_sync(FULL_MASK, edges != 0); rest;) {
    u32 first = __shfl_sync(FULL_MASK, of, __ffs(rest) - 1);
    u64 all = warp_reduce(of == first ? edges : 0, [](u64 x, u64 y) { return x + y; });
    if (lane_id() == 0) atomicAdd(&sums[first], all);
    rest &= ~__ballot_sync(FULL_MASK, of == first);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) weigh_classes(const __grid_constant__ Task t) {
  const Context& c = t.context;
  __shared__ u64 sums[2 * CLASSES];
  for (int k = threadIdx.x; k < 2 * CLASSES; k += blockDim.x) sums[k] = 0;
  __syncthreads();
  i64 words = (c.n + 31) / 32, warps = gridDim.x * (i64)blockDim.x / 32;
  for (i64 w = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32; w < words; w += warps) {
    i64 v = 32 * w + lane_id();
    u64 in_edges = 0, out_edges = 0;
    Value own{};
    Accumulator y{};
    if (v < c.n) {
      own = c.values[v], y = contribution_of(c, v);
      if (has_changed(c, v)) in_edges = degree(in_offsets(c), v);
      if (y != identity(c.parameters)) out_edges = degree(out_offsets(c), v);
    }
    add_to_class(sums, class_of(own), in_edges);
    add_to_class(sums + CLASSES, class_of(y), out_edges);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < 2 * CLASSES; k += blockDim.x)
    if (sums[k]) atomicAdd(&c.class_edges[k], sums[k]);
}
