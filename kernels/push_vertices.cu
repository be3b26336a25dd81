// Every active vertex of the page pushes along its list (EMOGI section 4.3): with a warp or, if `thread_each`, with a
// thread, which reads no two edges at once (listing 1). A warp takes those of the 32 vertices of its lanes that are
// active, one by one. Blocks begin in the order of vertices, so that what all of them read at a time lies close
// together: over a large list, lines that lie anywhere come eight times slower over the link. If long lists are split,
// they are left to push_pieces. In a synchronous run `next_values` has a copy of all values.
// Launch: one thread for each vertex of the page, which begins at a multiple of 32 vertices. Shared memory: none.
#include "lists.cuh"
#include "pieces.cuh"

// Leave the pieces of the list [begin, end) of vertex `v` to push_pieces, with all lanes of a warp.
__device__ __forceinline__ void leave_pieces(const Context& c, const Page& p, u32 v, i64 begin, i64 end) {
  u32 pieces = pieces_of(c, begin, end), to = 0;
  if (lane_id() == 0) to = atomicAdd(&p.tally->pieces, pieces);
  to = __shfl_sync(FULL_MASK, to, 0);
  for (u32 k = lane_id(); k < pieces; k += 32) c.pieces[to + k] = ListPiece{v, k};
}

// The list of vertex `v` with one thread, edge by edge.
__device__ __forceinline__ void push_by_thread(const Context& c, u32 v) {
  Pushed x = pushed_by(c, v, v);
  for (i64 e = out_offsets(c)[v]; e < out_offsets(c)[v + 1]; e++)
    push_edge(c, target_of(c, e), value_in_list(c, e), x, v);
}

extern "C" __global__ void __launch_bounds__(THREADS) push_vertices(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x, first = v - lane_id();
  u32 active = first < t.page.last_vertex ? c.frontier[first >> 5] : 0;
  bool is_active = active >> lane_id() & 1;
  if (c.thread_each) {
    if (is_active) push_by_thread(c, v);
    return;
  }
  i64 begin = 0, end = 0;
  Pushed x{};
  if (is_active) begin = out_offsets(c)[v], end = out_offsets(c)[v + 1], x = pushed_by(c, v, v);
  for (u32 rest = active; rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 from = warp_shfl(begin, lane), to = warp_shfl(end, lane);
    if (c.splits && to - from >= PIECE) leave_pieces(c, t.page, first + lane, from, to);
    else push_by_warp(c, warp_shfl(x, lane), first + lane, from, to);
  }
}
