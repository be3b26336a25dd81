// Several supersteps of pushes of deltas while the frontier is small, by the blocks of one cluster: what push_deltas and
// apply_notified do for each, and what push_few does for relaxations, under the same conditions. A superstep has two
// halves: active vertices push, and those that they notify are applied. These are listed in `next_queues`, in which
// there is room for all targets; the bitmap `notified`, empty before and after, says which are there already. Active
// vertices are listed in `queue`, and the pieces of their long lists in `pieces`, where those of a superstep take the
// places of the last one's.
// Launch: FEW_BLOCKS blocks of FEW_THREADS; before compute capability 9.0, which has no clusters, one block.
// Shared memory: none.
#include "few.cuh"
#include "vertices.cuh"

// Push from the `count` vertices of the queue, whose long lists are cut into `pieces`, and note that the sums include
// their values; call notified(u) for each vertex u that gets something.
template <class Notify>
__device__ __forceinline__ void push_few_lists(const Context& c, const Page& p, u32 count, u32 pieces, Notify notified) {
  u32 warp = (blockIdx.x * FEW_THREADS + threadIdx.x) / 32, warps = gridDim.x * FEW_THREADS / 32;
  u32 each = as_power_of_two(lists_per_warp(count, warps)), width = 32 / each;
  auto push = [&](u32 u, Seen, Accumulator y, u32) {
    if (add_delta(c, u, y)) notified(u);
  };
#pragma unroll 1
  for (u32 first = warp * each; first < count; first += warps * each) {
    u32 place = first + lane_id() / width;
    List mine = place < count ? queued_list(c, p, place) : List{};
    bool is_short = place < count && mine.end - mine.begin < PIECE;
    if (!is_short) mine.end = mine.begin;
    push_shared(c, p, mine, width, push);
    __syncwarp();  // all lanes have read the value that the sums included
    if (is_short && lane_id() % width == 0) c.next_values[mine.vertex] = mine.value.fresh;
  }
  if (!pieces) return;
  for (u32 k = warp; k < pieces; k += warps) push_queued_piece(c, p, k, push);
  sync_cluster();  // so have the warps that share a list
  for (u32 k = blockIdx.x * FEW_THREADS + threadIdx.x; k < pieces; k += gridDim.x * FEW_THREADS) {
    u32 v = c.queue[c.pieces[k].place];
    if (!c.pieces[k].number) c.next_values[v] = c.values[v];
  }
}

// Apply the `count` notified vertices; list those that become active, and count them.
__device__ __forceinline__ void apply_few(const Context& c, u32 count, Superstep* log) {
  u32 thread = blockIdx.x * FEW_THREADS + threadIdx.x, threads = gridDim.x * FEW_THREADS;
  u64 edges = 0;
  for (u32 k = thread; k < count; k += threads) {
    u32 u = __ldcg(&c.next_queues[k]);
    unmark(c.notified, u);
    Update done = update_vertex(c, u, ld_cg(&c.kept_sums[u]), c.values);
    if (!done.active) continue;
    u32 place = add_one(&log->active);
    c.queue[place] = u;
    list_pieces(c, &log->pieces, place, out_offsets(c)[u], out_offsets(c)[u + 1]);
    edges += done.out_edges;
  }
  __syncwarp();
  edges = sum_over_warp(edges);
  if (lane_id() == 0 && edges) atomicAdd(&log->active_edges, edges);
}

__device__ __forceinline__ void push_supersteps_of_deltas(const Context& c, const Page& p) {
  u32 thread = blockIdx.x * FEW_THREADS + threadIdx.x, threads = gridDim.x * FEW_THREADS, steps = 0;
  u32 count = p.tally->queued, pieces = p.tally->pieces, before = p.tally->supersteps;
  u64 since = p.tally->since;
  while (true) {
    Superstep* log = &c.supersteps[before + steps];
    if (thread == 0) {
      log[0].nanoseconds = nanoseconds() - since;
      log[1] = Superstep{};
    }
    push_few_lists(c, p, count, pieces, [&](u32 u) { c.next_queues[add_one(&log->notified)] = u; });
    sync_cluster();
    apply_few(c, __ldcg(&log->notified), log);
    sync_cluster();
    Superstep did = ld_cg(log);
    count = did.active, pieces = did.pieces, steps++;
    bool is_few = count <= FEW_LISTS * threads && did.active_edges <= (u64)FEW_EDGES * threads;
    if (count && is_few && before + steps < MOST_SUPERSTEPS && did.nanoseconds <= LONGEST_LAUNCH) continue;
    for (u32 k = thread; k < count; k += threads) mark(c.next_frontier, __ldcg(&c.queue[k]));
    if (thread == 0)
      p.tally->active = count, p.tally->active_edges = did.active_edges, p.tally->supersteps = before + steps;
    return;
  }
}

extern "C" __global__ void CLUSTER __launch_bounds__(FEW_THREADS, 1) push_few_deltas(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_supersteps_of_deltas(t.context, with_raw_edges(t.page));
}

extern "C" __global__ void CLUSTER __launch_bounds__(FEW_THREADS, 1) push_few_deltas_packed(
    const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_supersteps_of_deltas(t.context, t.page);
}
