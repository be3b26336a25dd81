// The edges of each class of vertices (parents.cuh), for programs that read no edge values.
// Launch: any number of threads; `class_edges` is 0 before. Shared memory: 4 KB.
#include "parents.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) weigh_classes(const __grid_constant__ Task t) {
  const Context& c = t.context;
  __shared__ u64 edges[2 * CLASSES];
  for (int k = threadIdx.x; k < 2 * CLASSES; k += blockDim.x) edges[k] = 0;
  __syncthreads();
  for (i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x; v < c.n; v += gridDim.x * (i64)blockDim.x) {
    u64 in_edges = degree(c.in_offsets, v), out_edges = degree(c.out_offsets, v);
    if (in_edges && has_changed(c, v)) atomicAdd(&edges[class_of(c.values[v])], in_edges);
    Accumulator y = contribution_of(c, v);
    if (out_edges && y != identity(c.parameters)) atomicAdd(&edges[CLASSES + class_of(y)], out_edges);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < 2 * CLASSES; k += blockDim.x)
    if (edges[k]) atomicAdd(&c.class_edges[k], edges[k]);
}
