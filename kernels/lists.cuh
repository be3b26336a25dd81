// Edge lists as EMOGI, EtaGraph and Grus push along them: raw targets of 4 or 8 bytes, from edge 0 on, wherever they
// are; and what an edge does to its target.
#pragma once

#include "chosen.cuh"
#include "pushed.cuh"

__device__ __forceinline__ u32 target_of(const Context& c, i64 e) {
  return c.wide_lists ? (u32)((const u64*)c.lists)[e] : ((const u32*)c.lists)[e];
}

__device__ __forceinline__ Edge value_in_list(const Context& c, i64 e) {
  if constexpr (READS_EDGES) return c.list_values[e];
  return Edge{};
}

// How far the list of the vertex at `place` in the queue is from where it is among all edges, at `begin`.
__device__ __forceinline__ i64 shift_of(const Context& c, i64 place, i64 begin) {
  return c.compacted ? c.compacted[place] - begin : 0;
}

// Vertex `v` pushes to `u` along an edge with this value.
#if PUSHES_DELTAS

__device__ __forceinline__ void push_edge(const Context& c, u32 u, Edge edge, const Pushed& x, u32 v) {
  add_delta(c, u, pushed_along(c, x, edge, v));
}

#else

// A target that changes is in the next frontier: with a byte map, its byte is written (Grus section 4.2.1), else its bit.
__device__ __forceinline__ void push_edge(const Context& c, u32 u, Edge edge, const Pushed& x, u32 v) {
  if (!relax(c, &c.values[u], look_at(c, u), pushed_along(c, x, edge, v))) return;
  if (c.updated) c.updated[u] = 1;
  else atomicOr(&c.next_frontier[u >> 5], 1u << (u & 31));
}

#endif

// Push along the edges [begin, end) of vertex `v` with all lanes of a warp: 32 edges at a time, from a multiple of
// `aligned` elements on, counted from a line of 128 bytes of the targets' memory (EMOGI, listing 2).
__device__ __forceinline__ void push_by_warp(const Context& c, const Pushed& x, u32 v, i64 begin, i64 end) {
  i64 first = begin - (c.aligned ? (begin + c.lead) & (c.aligned - 1) : 0);
  for (; first < end; first += 32) {
    i64 e = first + lane_id();
    if (e >= begin && e < end) push_edge(c, target_of(c, e), value_in_list(c, e), x, v);
    __syncwarp();  // so that all lanes read at once, and their reads become one request
  }
}
