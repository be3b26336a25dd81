// Several supersteps of pushes while the frontier is small, by the blocks of one cluster: what a superstep takes is then
// the latency of memory and of two barriers, not that of a launch. It ends when a frontier is empty, has more than
// FEW_LISTS vertices or FEW_EDGES out-edges for each thread, or where `choose` would end the chain. The first frontier is
// in `queue`, the last one in the bitmap `next_frontier`, which list_frontier has cleared. If the program has priorities
// and new values are visible at once, vertices may wait in the queue (priority.cuh), but not in the first superstep.
// Launch: FEW_BLOCKS blocks of FEW_THREADS; before compute capability 9.0, which has no clusters, one block.
// Shared memory: none.
#include "chosen.cuh"
#include "priority.cuh"
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

__device__ __forceinline__ void push_supersteps(const Context& c, const Page& p) {
  u32 thread = blockIdx.x * FEW_THREADS + threadIdx.x, threads = gridDim.x * FEW_THREADS, step = 0;
  u32 count = p.tally->queued, room = FEW_LISTS * threads, before = p.tally->supersteps;
  u64 since = p.tally->since, edges = 0;
  const u32* queue = c.queue;
  bool is_ordered = HAS_PRIORITY && c.next_values == c.values;
  Order order{};
  while (true) {
    Superstep* log = &c.supersteps[before + step];
    u32* next = c.next_queues + (step & 1) * room;
    u32 each = lists_per_warp(count, threads / 32);
    Activated done{0, 0};
    u64 waiting = 0;
    Value least = highest();
    bool watches = is_ordered && order.watches;
    auto activated = [&](u32 u, Value x) {
      u32 place = add_one(&log->active);
      if (place < room) next[place] = u;
      count_active(c, u, done);
      if (!watches) return;
      Value own = priority(c.parameters, x);
      if (own < least) least = own;
    };
    List mine[FEW_LISTS]{};  // all are read before any value changes
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++) {
      u32 k = (j * threads / 32 + thread / 32) * each + lane_id();
      if (lane_id() >= each || k >= count) continue;
      u32 v = __ldcg(queue + k);
      List list{v, read_value(&c.values[v]), c.out_offsets[v], c.out_offsets[v + 1]};
      if (watches && waits(order, priority(c.parameters, list.value))) {  // it stays in the next frontier
        activated(v, list.value);
        waiting += list.end - list.begin;
        continue;
      }
      atomicAnd(&c.next_frontier[v >> 5], ~(1u << (v & 31)));
      mine[j] = list;
    }
    if (watches && thread == 0) c.least[step & 1] = highest();
    sync_cluster();
    if (thread == 0) log[0].nanoseconds = nanoseconds() - since, log[1] = Superstep{};
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++)
      if (j * threads / 32 * each < count) push_lists(c, p, mine[j], relaxing(c, activated));
    done = sum_over_warp(done);
    if (lane_id() == 0 && done.count) atomicAdd(&log->active_edges, done.edges);
    if (watches) {
      least = warp_reduce(least, [](Value x, Value y) { return y < x ? y : x; });
      waiting = warp_reduce(waiting, [](u64 x, u64 y) { return x + y; });
      if (lane_id() == 0 && done.count) lower(&c.least[step & 1], least);
      if (lane_id() == 0 && waiting) atomicAdd(&log->waiting_edges, waiting);
    }
    sync_cluster();
    Superstep did = ld_cg(log);
    if (is_ordered) {
      if (watches) least = ld_cg(&c.least[step & 1]);
      order_next(order, edges - did.waiting_edges, did.waiting_edges, did.active_edges, least,
                 (u64)MANY_EDGES * threads);
    }
    count = did.active, edges = did.active_edges, queue = next, step++;
    bool is_few = count <= room && edges <= (u64)FEW_EDGES * threads;
    if (count && is_few && before + step < MOST_SUPERSTEPS && did.nanoseconds <= LONGEST_LAUNCH) continue;
    if (thread == 0) p.tally->active = count, p.tally->active_edges = edges, p.tally->supersteps = before + step;
    return;
  }
}

extern "C" __global__ void CLUSTER __launch_bounds__(FEW_THREADS, 1) push_few(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_supersteps(current(t), with_raw_edges(t.page));
}

extern "C" __global__ void CLUSTER __launch_bounds__(FEW_THREADS, 1) push_few_packed(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_supersteps(current(t), t.page);
}
