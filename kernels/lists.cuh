// Edge lists as EMOGI, EtaGraph and Grus push along them: raw targets of 4 or 8 bytes, from edge 0 on, wherever they
// are; and what an edge does to its target.
#pragma once

#include "chosen.cuh"
#include "pushed.cuh"

constexpr int ROWS = 4;  // rows of 32 edges that a warp reads at a time

__device__ __forceinline__ u32 target_of(const Context& c, i64 e) {
  return c.wide_lists ? (u32)((const u64*)c.lists)[e] : ((const u32*)c.lists)[e];
}

__device__ __forceinline__ Edge value_in_list(const Context& c, i64 e) {
  if constexpr (READS_EDGES) return c.list_values[e];
  return Edge{};
}

// Vertex `v` pushes to the targets u[j] along edges with these values, for each j whose bit is in `wanted`. The loads of
// all edges are in flight together, and so are the atomic operations.
#if PUSHES_DELTAS

template <int COUNT>
__device__ __forceinline__ void push_to(const Context& c, const u32* u, const Edge* edges, u32 wanted, const Pushed& x,
                                        u32 v) {
  u32 words[COUNT];
#pragma unroll
  for (int j = 0; j < COUNT; j++)
    if (wanted >> j & 1) words[j] = __ldcg(&c.notified[u[j] >> 5]);
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    if (!(wanted >> j & 1)) continue;
    atomic_sum(&c.kept_sums[u[j]], pushed_along(c, x, edges[j], v));
    u32 bit = 1u << (u[j] & 31);
    if (!(words[j] & bit)) atomicOr(&c.notified[u[j] >> 5], bit);
  }
}

#else

// A target that changes is in the next frontier: with a byte map, its byte is written (Grus section 4.2.1), else its bit.
template <int COUNT>
__device__ __forceinline__ void push_to(const Context& c, const u32* u, const Edge* edges, u32 wanted, const Pushed& x,
                                        u32 v) {
  typedef typename Word<sizeof(Value)>::type word_t;
  Value seen[COUNT];
  Accumulator y[COUNT];
  word_t had[COUNT], found[COUNT];
  u32 tried = 0;
#pragma unroll
  for (int j = 0; j < COUNT; j++)
    if (wanted >> j & 1) seen[j] = look_at(c, u[j]);
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    if (!(wanted >> j & 1)) continue;
    y[j] = pushed_along(c, x, edges[j], v);
    Value fresh = combine(seen[j], y[j]);
    if (!activate(c.parameters, fresh, seen[j])) continue;
    word_t word;
    memcpy(&word, &fresh, sizeof(Value));
    memcpy(&had[j], &seen[j], sizeof(Value));
    tried |= 1u << j, found[j] = atomicCAS((word_t*)&c.values[u[j]], had[j], word);
  }
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    if (!(tried >> j & 1)) continue;
    if (found[j] != had[j]) {  // another thread was faster
      memcpy(&seen[j], &found[j], sizeof(Value));
      if (!relax(c, &c.values[u[j]], seen[j], y[j])) continue;
    }
    if (c.updated) c.updated[u[j]] = 1;
    else atomicOr(&c.next_frontier[u[j] >> 5], 1u << (u[j] & 31));
  }
}

#endif

// The edges of a lane in ROWS rows: targets, values, and which of them are among the edges [begin, end).
struct Rows {
  u32 u[ROWS], wanted;
  Edge edges[ROWS];
};

__device__ __forceinline__ Rows read_rows(const Context& c, i64 first, i64 begin, i64 end) {
  Rows rows;
  rows.wanted = 0;
#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    i64 e = first + 32 * j;
    if (e < begin || e >= end) continue;
    rows.wanted |= 1u << j, rows.u[j] = target_of(c, e), rows.edges[j] = value_in_list(c, e);
  }
  return rows;
}

// Push along the edges [begin, end) of vertex `v` with all lanes of a warp: 32 edges a row, of which the first begins at
// a multiple of `aligned` elements, counted from a line of 128 bytes of the targets' memory (EMOGI, listing 2).
__device__ __forceinline__ void push_rows(const Context& c, const Pushed& x, u32 v, i64 begin, i64 end) {
  i64 first = begin - (c.aligned ? (begin + c.lead) & (c.aligned - 1) : 0) + lane_id();
  for (; first - lane_id() < end; first += 32 * ROWS) {
    Rows rows = read_rows(c, first, begin, end);
    push_to<ROWS>(c, rows.u, rows.edges, rows.wanted, x, v);
  }
}
