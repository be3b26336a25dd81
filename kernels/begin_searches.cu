// Where searches begin: the bit of search k (executor/levels.py) is cleared in the value of vertex sources[k], which
// becomes active. `positions` has the GPU's numbers of vertices, and is null if they are the user's.
// Launch: one thread for each search. Shared memory: none.
#include "garaph_generated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
begin_searches(const i64* sources, const u32* positions, u64* values, u32* frontier, i64 count) {
  i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (k >= count) return;
  i64 v = positions ? positions[sources[k]] : sources[k];
  atomicAnd(&values[v], ~(1ull << (k ^ 7)));
  atomicOr(&frontier[v >> 5], 1u << (v & 31));
}
