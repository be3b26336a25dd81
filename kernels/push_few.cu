// Several supersteps of pushes while the frontier is small, by the blocks of one cluster: what a superstep takes is
// then the latency of memory and of a barrier, not that of a launch. It ends when a frontier is empty, has more than
// FEW_LISTS vertices or FEW_EDGES out-edges for each thread, or where `choose` would end the chain. The first frontier
// is in `queue` and in the bitmap `frontier`, the last one in the bitmap `next_frontier`, which list_frontier has
// cleared. If the program has priorities and new values are visible at once, vertices may wait in the queue
// (priority.cuh), but not in the first superstep.
// Launch: FEW_BLOCKS blocks of FEW_THREADS; before compute capability 9.0, which has no clusters, one block.
// Shared memory: none.
#include "few.cuh"
#include "priority.cuh"

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

template <class T>
__device__ __forceinline__ u32 first_word(const T& x) {
  u32 word;
  memcpy(&word, &x, 4);
  return word;
}

// A superstep. The queue's vertices are cleared in one bitmap, and those of the next frontier marked in the other.
struct Step {
  const u32* queue;
  u32 count;          // vertices in the queue
  u32 each, width;    // lists that a warp takes at a time, and lanes for each
  u32 *marked, *cleared;
  bool watches;       // vertices may have to wait
};

// Read the lists of this thread's vertices, and their values; return the out-edges of those that stay in the next
// frontier, for which activated(v, value) is called.
template <class Activate>
__device__ __forceinline__ u64 take_lists(const Context& c, const Step& step, const Order& order, List* mine,
                                          Activate& activated) {
  u32 warp = (blockIdx.x * FEW_THREADS + threadIdx.x) / 32, warps = gridDim.x * FEW_THREADS / 32;
  u64 waiting = 0;
#pragma unroll
  for (u32 j = 0; j < FEW_LISTS; j++) {
    u32 k = (j * warps + warp) * step.each + lane_id() / step.width;
    if (k >= step.count) continue;
    u32 v = __ldcg(step.queue + k);
    List list{v, read_value(&c.values[v]), out_offsets(c)[v], out_offsets(c)[v + 1]};
    bool is_first = lane_id() % step.width == 0;
    if (is_first) unmark(step.cleared, v);
    if (!step.watches || !waits(order, priority(c.parameters, list.value))) {
      mine[j] = list;
    } else if (is_first) {
      waiting += list.end - list.begin;
      if (mark(step.marked, v)) activated(v, list.value);
    }
  }
  return waiting;
}

// Add what a warp has done to the superstep's record and, if vertices may have to wait, to the least priority.
__device__ __forceinline__ void add_to_log(Superstep* log, Activated done, bool watches, u64 waiting, Value least,
                                           Value* least_now) {
  done = sum_over_warp(done);
  if (lane_id() == 0 && done.count) atomicAdd(&log->active_edges, done.edges);
  if (!watches) return;
  least = warp_reduce(least, [](Value x, Value y) { return y < x ? y : x; });
  waiting = sum_over_warp(waiting);
  if (lane_id() == 0 && done.count) lower(least_now, least);
  if (lane_id() == 0 && waiting) atomicAdd(&log->waiting_edges, waiting);
}

__device__ __forceinline__ void push_supersteps(const Context& c, const Page& p) {
  u32 thread = blockIdx.x * FEW_THREADS + threadIdx.x, threads = gridDim.x * FEW_THREADS, steps = 0;
  u32 count = p.tally->queued, room = FEW_LISTS * threads, before = p.tally->supersteps;
  u64 since = p.tally->since, edges = 0, many = (u64)MANY_EDGES * threads;
  const u32* queue = c.queue;
  bool is_synchronous = c.next_values != c.values, is_ordered = HAS_PRIORITY && !is_synchronous;
  Order order{};
  while (true) {
    u32 each = as_power_of_two(lists_per_warp(count, threads / 32)), is_odd = steps & 1;
    Step step{queue, count, each, 32 / each, is_odd ? c.frontier : c.next_frontier,
              is_odd ? c.next_frontier : c.frontier, is_ordered && order.watches};
    Superstep* log = &c.supersteps[before + steps];
    Value *least_now = &c.least[steps % 3], least = highest();
    u32* next = c.next_queues + is_odd * room;
    Activated done{0, 0};
    auto activated = [&](u32 u, Value x) {
      count_active(c, u, done);
      u32 place = add_one(&log->active);
      if (place < room) next[place] = u;
      if (!step.watches) return;
      Value own = priority(c.parameters, x);
      if (own < least) least = own;
    };
    List mine[FEW_LISTS]{};
    u64 waiting = take_lists(c, step, order, mine, activated);
    if (thread == 0) {
      log[0].nanoseconds = nanoseconds() - since;
      log[1] = Superstep{}, c.least[(steps + 1) % 3] = highest();
    }
    u32 word = 0;
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++) word ^= first_word(mine[j].value);
    if (is_synchronous) meet_cluster(word);  // all have read values before any changes
#pragma unroll
    for (u32 j = 0; j < FEW_LISTS; j++)
      if (j * threads / 32 * each < count) push_shared(c, p, mine[j], step.width, relaxing(c, step.marked, activated));
    add_to_log(log, done, step.watches, waiting, least, least_now);
    sync_cluster();
    Superstep did = ld_cg(log);
    if (step.watches) least = ld_cg(least_now);
    if (is_ordered) order_next(order, edges - did.waiting_edges, did.waiting_edges, did.active_edges, least, many);
    count = did.active, edges = did.active_edges, queue = next, steps++;
    bool is_few = count <= room && edges <= (u64)FEW_EDGES * threads;
    if (count && is_few && before + steps < MOST_SUPERSTEPS && did.nanoseconds <= LONGEST_LAUNCH) continue;
    if (steps % 2 == 0)  // the last frontier is in the other bitmap
      for (i64 k = thread; k < (c.n + 31) / 32; k += threads) c.next_frontier[k] = __ldcg(&c.frontier[k]);
    if (thread == 0) p.tally->active = count, p.tally->active_edges = edges, p.tally->supersteps = before + steps;
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
