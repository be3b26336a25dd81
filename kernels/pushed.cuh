// What a vertex of the queue pushes along its edges: its value, in a relaxation; its value and the one that the sums of
// its targets include, in a program that pushes deltas.
#pragma once

#include "edges.cuh"

#if PUSHES_DELTAS

struct Pushed {
  Value fresh, old;
};

struct Seen {};  // sums are added to unseen

__device__ __forceinline__ Pushed pushed_by(const Context& c, u32, u32 v) { return {c.values[v], c.next_values[v]}; }

__device__ __forceinline__ Seen look_at(const Context&, u32) { return {}; }

// What an edge of vertex `v` with this value adds to its target: all that it contributes, if the sums are empty.
__device__ __forceinline__ Accumulator pushed_along(const Context& c, const Pushed& x, Edge edge, u32 v) {
  if (c.pushes_all) return gather(c.parameters, x.fresh, edge, Value{}, v);
  return delta(c.parameters, x.fresh, x.old, edge, v);
}

// Add `y` to the sum of `u`, and put `u` into `notified`.
__device__ __forceinline__ void add_delta(const Context& c, u32 u, Accumulator y) {
  u32* word = &c.notified[u >> 5];
  bool is_notified = __ldcg(word) >> (u & 31) & 1;
  atomic_sum(&c.kept_sums[u], y);
  if (!is_notified) atomicOr(word, 1u << (u & 31));
}

#else

#include "relax.cuh"

typedef Value Pushed;
typedef Value Seen;

// What vertex `v`, at `place` in the queue, pushes. New values are written in place; a synchronous push has copies of
// the old ones.
__device__ __forceinline__ Pushed pushed_by(const Context& c, u32 place, u32 v) {
  return c.next_values != c.values ? c.next_values[c.copies_by_vertex ? v : place] : read_value(&c.values[v]);
}

// The value of a target before an edge adds to it.
__device__ __forceinline__ Seen look_at(const Context& c, u32 u) { return read_value(&c.values[u]); }

// What an edge of vertex `v` with this value adds to its target.
__device__ __forceinline__ Accumulator pushed_along(const Context& c, Pushed x, Edge edge, u32 v) {
  return gather(c.parameters, x, edge, Value{}, v);
}

#endif
