// Pieces of the kernels that do several supersteps in one launch, by the blocks of one cluster (push_few.cu,
// push_few_deltas.cu).
#pragma once

#include "chosen.cuh"
#include "push_lists.cuh"

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(FEW_BLOCKS, 1, 1)
#else
#define CLUSTER
#endif

// Wait for all threads; they then see what the others wrote before.
__device__ __forceinline__ void sync_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
#else
  __syncthreads();
#endif
}

// Add 1 to the number at `at`; return what it was before. The threads of a warp that call it together share one atomic
// operation.
__device__ __forceinline__ u32 add_one(u32* at) {
  u32 together = __activemask(), before = 0;
  int first = __ffs(together) - 1;
  if (lane_id() == first) before = atomicAdd(at, __popc(together));
  return __shfl_sync(together, before, first) + __popc(together & lanes_below(lane_id()));
}

__device__ __forceinline__ u32 as_power_of_two(u32 x) { return x < 2 ? 1 : 2u << (31 - __clz(x - 1)); }

// Push along the lists of a warp; each has `width` lanes. Where that is one for each edge, nothing has to be divided.
template <class Push>
__device__ __forceinline__ void push_shared(const Context& c, const Page& p, const List& mine, u32 width, Push push) {
  if (p.records || __any_sync(FULL_MASK, mine.end - mine.begin > width)) {
    int lane = lane_id() * width & 31;
    List list{warp_shfl(mine.vertex, lane), warp_shfl(mine.value, lane), warp_shfl(mine.begin, lane),
              warp_shfl(mine.end, lane)};
    push_lists(c, p, lane_id() * width < 32 ? list : List{}, push);
    return;
  }
  i64 e = mine.begin + lane_id() % width;
  if (e >= mine.end) return;
  u32 u = stored_source(p, e);
  Edge edge = value_of(p, e);
  push(u, look_at(c, u), pushed_along(c, mine.value, edge, mine.vertex), mine.vertex);
}
