// next_u = sum(next_u, gather(v, e)) for every edge e of the page from a vertex v of the queue to u, and the next
// frontier: the vertices whose value changed (Garaph section 2.2; Beamer et al., SC 2012). A warp takes several short
// lists, or a piece of a long one.
// Launch: any number of threads. Shared memory: none.
#include "push_lists.cuh"

// The list of the vertex at `place` in the queue; empty if it is not in the page.
__device__ __forceinline__ List queued_list(const Context& c, const Page& p, u32 place) {
  u32 v = c.queue[place];
  if (v < p.first_vertex || v >= p.last_vertex) return List{};
  Value x = c.next_values != c.values ? c.next_values[place] : read_value(&c.values[v]);
  return List{v, x, c.out_offsets[v], c.out_offsets[v + 1]};
}

__device__ __forceinline__ void push_queued(const Context& c, const Page& p) {
  u32 count = p.tally->queued, pieces = p.tally->pieces;
  int warps = gridDim.x * blockDim.x / 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int each = lists_per_warp(count, warps);
  Activated done{0, 0};
  auto activated = [&](u32 u, Value) { count_active(c, u, done); };
  for (i64 first = (i64)warp * each; first < count; first += (i64)warps * each) {
    List mine{};
    if (lane_id() < each && first + lane_id() < count) mine = queued_list(c, p, first + lane_id());
    if (mine.end - mine.begin >= PIECE) mine.end = mine.begin;
    push_lists(c, p, mine, activated);
  }
  for (u32 k = warp; k < pieces; k += warps) {
    ListPiece piece = c.pieces[k];
    List list = queued_list(c, p, piece.place);
    if (list.begin == list.end) continue;
    i64 head = list.begin, first = (head / PIECE + piece.number) * PIECE;
    list.begin = max(head, first);
    list.end = min(list.end, first + PIECE);
    push_list(c, p, list, source_before(p, head, list.begin), activated);
  }
  add_to_tally(p, done);
}

extern "C" __global__ void __launch_bounds__(THREADS) push_queue(const __grid_constant__ Task t) {
  push_queued(t.context, with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS) push_queue_packed(const __grid_constant__ Task t) {
  push_queued(t.context, t.page);
}
