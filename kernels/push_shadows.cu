// The shadow vertices of both virtual active sets push, a thread each (EtaGraph section V). With `prefetches`, a thread
// first fetches all its neighbours to shared memory: `degree_limit` for a whole shadow vertex, one less for another, of
// which some may not be its own.
// Launch: any number of threads, after cut_degrees. Shared memory: degree_limit words for each thread.
#include "lists.cuh"

// Push along the edges of each of `count` shadow vertices; at most `most` neighbours are fetched ahead.
__device__ __forceinline__ void push_set(const Context& c, const Page& p, const Shadow* shadows, u64 count, u32 most,
                                         u32* fetched) {
  u32* mine = fetched + threadIdx.x;  // the threads' words take turns, so that no two share a bank
  for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < count; k += (u64)gridDim.x * blockDim.x) {
    Shadow shadow = shadows[k];
    u32 v = c.queue[shadow.place];
    Pushed x = pushed_by(c, shadow.place, v);
    if (c.prefetches) {
#pragma unroll 5
      for (u32 j = 0; j < most; j++) mine[j * THREADS] = target_of(c, min(shadow.start + j, p.last_edge - 1));
    }
    for (u32 j = 0; j < shadow.edges; j++) {
      u32 u = c.prefetches ? mine[j * THREADS] : target_of(c, shadow.start + j);
      push_edge(c, u, value_in_list(c, shadow.start + j), x, v);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) push_shadows(const __grid_constant__ Task t) {
  extern __shared__ u32 fetched[];
  const Context& c = t.context;
  const Page& p = t.page;
  push_set(c, p, c.whole_shadows, p.tally->whole_shadows, c.degree_limit, fetched);
  push_set(c, p, c.part_shadows, p.tally->part_shadows, c.degree_limit - 1, fetched);
}
