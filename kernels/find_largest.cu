// The root of the largest tree: the most frequent parent of SAMPLE vertices, evenly spaced; of several, any.
// Launch: one block of SAMPLE threads, after flatten. Shared memory: 4 bytes per thread, and 4.
#include "trees.cuh"

extern "C" __global__ void __launch_bounds__(SAMPLE) find_largest(const __grid_constant__ Task t) {
  const Context& c = t.context;
  __shared__ u32 roots[SAMPLE];
  __shared__ u32 most;
  u32 root = roots[threadIdx.x] = c.parents[threadIdx.x * c.n / SAMPLE];
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  u32 count = 0;
  for (int k = 0; k < SAMPLE; k++) count += roots[k] == root;
  atomicMax(&most, count);
  __syncthreads();
  if (count == most) *c.largest = root;
}
