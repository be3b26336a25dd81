// Several supersteps of pushes while the frontier is small, by the blocks of one cluster: what a superstep takes is
// then the latency of memory and of a barrier, not that of a launch. It ends when a frontier is empty, has more than
// FEW_LISTS vertices or FEW_EDGES out-edges for each thread, or where `choose` would end the chain. The first frontier
// is in `queue` and in the bitmap `frontier`, the last one in the bitmap `next_frontier`, which list_frontier has
// cleared. If the program has priorities and new values are visible at once, vertices may wait in the queue
// (priority.cuh), but not in the first superstep.
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

// Wait until all threads are here, and have loaded what their `word` depends on: the first instruction, which never
// sleeps, needs the word. They may not see yet what others wrote.
__device__ __forceinline__ void meet_cluster(u32 word) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n .reg .pred p;\n setp.eq.u32 p, %0, 1;\n @p nanosleep.u32 0;\n}" ::"r"(word) : "memory");
  asm volatile("barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;" ::: "memory");
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

template <class T>
__device__ __forceinline__ u32 first_word(const T& x) {
  u32 word;
  memcpy(&word, &x, 4);
  return word;
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
  u32 u = stored_target(c, p, e);
  Edge edge = value_to_target(c, p, e);
  push(u, look_at(c, u), pushed_along(c, mine.value, edge, mine.vertex), mine.vertex);
}

__device__ __forceinline__ void push_supersteps(const Context& c, const Page& p) {
  u32 thread = blockIdx.x * FEW_THREADS + threadIdx.x, threads = gridDim.x * FEW_THREADS, step = 0;
  u32 count = p.tally->queued, room = FEW_LISTS * threads, before = p.tally->supersteps;
  u64 since = p.tally->since, edges = 0;
  const u32* queue = c.queue;
  bool is_synchronous = c.next_values != c.values, is_ordered = HAS_PRIORITY && !is_synchronous;
  Order order{};
  while (true) {
    // The queue's vertices are cleared in one bitmap, and those of the next frontier marked in the other.
    u32 *marked = step & 1 ? c.frontier : c.next_frontier, *cleared = step & 1 ? c.next_frontier : c.frontier;
    Superstep* log = &c.supersteps[before + step];
    Value *least_now = &c.least[step % 3], *least_next = &c.least[(step + 1) % 3];
    u32* next = c.next_queues + (step & 1) * room;
    u32 each = as_power_of_two(lists_per_warp(count, threads / 32)), width = 32 / each;
    Activated done{0, 0};
    u64 waiting = 0;
    Value least = highest();
    bool watches = is_ordered && order.watches;
    auto activated = [&](u32 u, Value x) {
      count_active(c, u, done);
      u32 place = add_one(&log->active);
      if (place < room) next[place] = u;
      if (!watches) return;
      Value own = priority(c.parameters, x);
      if (own < least) least = own;
    };
    List mine[FEW_LISTS]{};
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++) {
      u32 k = (j * threads / 32 + thread / 32) * each + lane_id() / width;
      if (k >= count) continue;
      u32 v = __ldcg(queue + k);
      List list{v, read_value(&c.values[v]), c.out_offsets[v], c.out_offsets[v + 1]};
      bool is_first = lane_id() % width == 0;
      if (is_first) unmark(cleared, v);
      if (!watches || !waits(order, priority(c.parameters, list.value))) {
        mine[j] = list;
      } else if (is_first) {  // it stays in the next frontier
        waiting += list.end - list.begin;
        if (mark(marked, v)) activated(v, list.value);
      }
    }
    if (thread == 0) log[0].nanoseconds = nanoseconds() - since, log[1] = Superstep{}, *least_next = highest();
    u32 word = 0;
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++) word ^= first_word(mine[j].value);
    if (is_synchronous) meet_cluster(word);  // all have read values before any changes
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++)
      if (j * threads / 32 * each < count) push_shared(c, p, mine[j], width, relaxing(c, marked, activated));
    done = sum_over_warp(done);
    if (lane_id() == 0 && done.count) atomicAdd(&log->active_edges, done.edges);
    if (watches) {
      least = warp_reduce(least, [](Value x, Value y) { return y < x ? y : x; });
      waiting = sum_over_warp(waiting);
      if (lane_id() == 0 && done.count) lower(least_now, least);
      if (lane_id() == 0 && waiting) atomicAdd(&log->waiting_edges, waiting);
    }
    sync_cluster();
    Superstep did = ld_cg(log);
    if (is_ordered) {
      if (watches) least = ld_cg(least_now);
      order_next(order, edges - did.waiting_edges, did.waiting_edges, did.active_edges, least,
                 (u64)MANY_EDGES * threads);
    }
    count = did.active, edges = did.active_edges, queue = next, step++;
    bool is_few = count <= room && edges <= (u64)FEW_EDGES * threads;
    if (count && is_few && before + step < MOST_SUPERSTEPS && did.nanoseconds <= LONGEST_LAUNCH) continue;
    if (step % 2 == 0)
      for (i64 k = thread; k < (c.n + 31) / 32; k += threads) c.next_frontier[k] = __ldcg(&c.frontier[k]);
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
