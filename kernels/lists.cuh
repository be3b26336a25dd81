// Edge lists as EMOGI, EtaGraph and Grus push along them: raw targets of 4 or 8 bytes, from edge 0 on, wherever they
// are; and what an edge does to its target.
#pragma once

#include "chosen.cuh"
#include "pushed.cuh"

constexpr int ROWS = 4;  // rows of 32 edges whose loads a warp has in flight at a time

__device__ __forceinline__ u32 target_of(const Context& c, i64 e) {
  return c.wide_lists ? (u32)((const u64*)c.lists)[e] : ((const u32*)c.lists)[e];
}

__device__ __forceinline__ Edge value_in_list(const Context& c, i64 e) {
  if constexpr (READS_EDGES) return c.list_values[e];
  return Edge{};
}

#if PUSHES_DELTAS

// Adds to the sum of the target, and notifies it.
struct Pusher {
  const Context& c;
  const Page& p;

  __device__ __forceinline__ void operator()(u32 u, Seen, Accumulator y) {
    atomic_sum(&c.kept_sums[u], y);
    u32 bit = 1u << (u & 31);
    if (!(__ldcg(&c.notified[u >> 5]) & bit)) atomicOr(&c.notified[u >> 5], bit);
  }

  __device__ __forceinline__ void end() {}
};

#else

// Relaxes the target. If that changes it, the target is in the next frontier: with a byte map, its byte is written, as
// often as it changes (Grus section 4.2.1); else the first of all changes marks its bit and counts it.
struct Pusher {
  const Context& c;
  const Page& p;
  Activated done;

  __device__ __forceinline__ void operator()(u32 u, Value seen, Accumulator y) {
    if (!relax(c, &c.values[u], seen, y)) return;
    if (c.updated) c.updated[u] = 1;
    else if (mark(c.next_frontier, u)) count_active(c, u, done);
  }

  __device__ __forceinline__ void end() { add_to_tally(p, done); }
};

#endif

// Push along the edges [begin, end) of vertex `v` with all lanes of a warp: 32 edges a row, of which the first begins at
// a multiple of `aligned` elements, counted from a line of 128 bytes of the targets' memory (EMOGI, listing 2).
__device__ __forceinline__ void push_rows(const Context& c, const Page& p, const Pushed& x, u32 v, i64 begin, i64 end,
                                          Pusher& push) {
  i64 first = begin - (c.aligned ? (begin + c.lead) & (c.aligned - 1) : 0);
  for (first += lane_id(); first - lane_id() < end; first += 32 * ROWS) {
    u32 u[ROWS];
    Edge edges[ROWS];
    Seen seen[ROWS];
    u32 wanted = 0;
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      i64 e = first + 32 * j;
      if (e < begin || e >= end) continue;
      wanted |= 1u << j, u[j] = target_of(c, e), edges[j] = value_in_list(c, e);
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++)
      if (wanted >> j & 1) seen[j] = look_at(c, u[j]);
#pragma unroll
    for (int j = 0; j < ROWS; j++)
      if (wanted >> j & 1) push(u[j], seen[j], pushed_along(c, x, edges[j], v));
  }
}
