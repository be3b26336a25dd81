// Push along the lists of out-edges of active vertices. In an undirected graph these are the lists of in-edges: the
// sources in the list of a vertex are the vertices that it pushes to. In a directed graph, the page has the out-edges,
// and their targets as its sources.
#pragma once

#include "packed_lists.cuh"
#include "pieces.cuh"
#include "pushed.cuh"

constexpr int IN_FLIGHT = HAS_ROWS ? 2 : 4;  // edges of a lane whose loads are in flight at a time
constexpr int LONG = 64;      // from this many edges on, a list has the whole warp

// A list of edges [begin, end) of a vertex, and what the vertex pushes.
struct List {
  u32 vertex;
  Pushed value;
  i64 begin, end;
};

// Push along the edges e[j] of the vertices v[j], which push x[j], for each j whose bit is in `wanted` (push_each). For
// the same j, the edges of a warp's lanes are a row (source_in_row): their lists begin in the lanes head[j]. All lanes of
// a warp must call it.
template <class Push>
__device__ __forceinline__ void push_edges(const Context& c, const Page& p, const i64* e, const int* head, u32 wanted,
                                          const u32* v, const Pushed* x, u32& carry, Push push) {
  u32 u[IN_FLIGHT];
  Edge edges[IN_FLIGHT];
#pragma unroll
  for (int j = 0; j < IN_FLIGHT; j++) {
    u[j] = 0;
    if (wanted >> j & 1) u[j] = stored_source(p, e[j]), edges[j] = value_of(p, e[j]);
  }
  if (p.records) {
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; j++) u[j] = source_in_row(c, u[j], head[j], carry);
  }
  push_each<IN_FLIGHT>(c, wanted, u, edges, v, x, push);
}

// Push along one list, or a part of it before which `carry` is the last source, with all lanes of a warp.
template <class Push>
__device__ __forceinline__ void push_list(const Context& c, const Page& p, const List& list, u32 carry, Push push) {
  u32 v[IN_FLIGHT];
  Pushed x[IN_FLIGHT];
  int head[IN_FLIGHT];
#pragma unroll
  for (int j = 0; j < IN_FLIGHT; j++) v[j] = list.vertex, x[j] = list.value, head[j] = -1;
  for (i64 first = list.begin & ~31ll; first < list.end; first += 32 * IN_FLIGHT) {  // whole lines of a page's memory
    __syncwarp();  // so that all lanes read at once, and their reads become one request
    i64 e[IN_FLIGHT];
    u32 wanted = 0;
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; j++) {
      e[j] = first + 32 * j + lane_id();
      wanted |= (e[j] >= list.begin && e[j] < list.end) << j;
    }
    push_edges(c, p, e, head, wanted, v, x, carry, push);
  }
}

// Push along the lists of all lanes of a warp, each of which has one: the long ones one by one, the others laid end to
// end.
template <class Push>
__device__ __forceinline__ void push_lists(const Context& c, const Page& p, List mine, Push push) {
  u32 longs = __ballot_sync(FULL_MASK, mine.end - mine.begin >= LONG);
  for (u32 rest = longs; rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    push_list(c, p, List{warp_shfl(mine.vertex, lane), warp_shfl(mine.value, lane), warp_shfl(mine.begin, lane),
                         warp_shfl(mine.end, lane)}, 0, push);
  }
  int count = longs >> lane_id() & 1 ? 0 : (int)(mine.end - mine.begin), before = count;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    int other = __shfl_up_sync(FULL_MASK, before, s);
    if (lane_id() >= s) before += other;
  }
  int all = __shfl_sync(FULL_MASK, before, 31);
  u32 carry = 0;
  for (int first = 0; first < all; first += 32 * IN_FLIGHT) {
    i64 e[IN_FLIGHT];
    u32 v[IN_FLIGHT], wanted = 0;
    Pushed x[IN_FLIGHT];
    int head[IN_FLIGHT];
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; j++) {
      int at = first + 32 * j + lane_id(), lane = 0;  // the edge is in the first list with `at` < before
#pragma unroll
      for (int s = 16; s; s >>= 1)
        if (__shfl_sync(FULL_MASK, before, lane + s - 1) <= at) lane += s;
      v[j] = warp_shfl(mine.vertex, lane), x[j] = warp_shfl(mine.value, lane);
      int place = at - __shfl_sync(FULL_MASK, before - count, lane);  // in the list
      e[j] = warp_shfl(mine.begin, lane) + place;
      head[j] = lane_id() - place;
      wanted |= (at < all) << j;
    }
    push_edges(c, p, e, head, wanted, v, x, carry, push);
  }
}

// How many of `count` lists each of so many warps takes at a time, so that as many warps as possible have some.
__device__ __forceinline__ int lists_per_warp(u32 count, int warps) {
  return min(max((count + warps - 1) / warps, 1u), 32u);
}

// The list of the vertex at `place` in the queue; empty if it is not in the page.
__device__ __forceinline__ List queued_list(const Context& c, const Page& p, u32 place) {
  u32 v = c.queue[place];
  if (v < p.first_vertex || v >= p.last_vertex) return List{};
  return List{v, pushed_by(c, place, v), out_offsets(c)[v], out_offsets(c)[v + 1]};
}

// Push along piece `k` of the queue's long lists, if its vertex is in the page, with all lanes of a warp.
template <class Push>
__device__ __forceinline__ void push_queued_piece(const Context& c, const Page& p, u32 k, Push push) {
  ListPiece piece = c.pieces[k];
  List list = queued_list(c, p, piece.place);
  if (list.begin == list.end) return;
  i64 head = list.begin;
  keep_piece(c, piece.number, list.begin, list.end);
  push_list(c, p, list, source_before(p, head, list.begin), push);
}

// The next of the things that the launch's warps take one by one; `taken` counts them. All lanes of a warp must call it.
__device__ __forceinline__ u64 take_next(u64* taken) {
  u64 k = lane_id() == 0 ? atomicAdd(taken, 1) : 0;
  return __shfl_sync(FULL_MASK, k, 0);
}

// Push along the lists of the queue's vertices that are in the page: a warp takes several short lists, or a piece of a
// long one. Whichever warp is free takes the next, so that what all of them read at a time lies close together: lines
// that lie anywhere in a large list come several times slower over the link.
template <class Push>
__device__ __forceinline__ void push_queued(const Context& c, const Page& p, Push push) {
  const Tally& listed = p.listed ? *p.listed : *p.tally;
  u32 count = listed.queued, pieces = listed.pieces;
  int each = lists_per_warp(count, gridDim.x * blockDim.x / 32);
  for (u64 first; (first = take_next(&p.tally->taken_lists) * each) < count;) {
    List mine{};
    if (lane_id() < each && first + lane_id() < count) mine = queued_list(c, p, first + lane_id());
    if (mine.end - mine.begin >= PIECE) mine.end = mine.begin;
    push_lists(c, p, mine, push);
  }
  for (u64 k; (k = take_next(&p.tally->taken_pieces)) < pieces;) push_queued_piece(c, p, k, push);
}
