// The in-neighbour that gave a vertex its value: the smallest u with gather(value_u, e) == value_v.
//
// A search through the list of v ends at the first such edge. It is long if v has many in-edges and few of them are such:
// a neighbour of a BFS's source has no other parent than the source. So vertices are divided into classes by a hash of
// their values. In each class, either the vertices look for their parents, or those that contribute such a value push
// along their out-edges, whatever takes fewer edges (as Beamer et al., SC 2012, choose a direction for each level).
#pragma once

#include "vertices.cuh"

constexpr u64 PUSHED_EDGE = 4;  // a pushed edge counts as so many that are looked at, as searches end early (a guess)

// Whether vertex `v` no longer has its first value.
__device__ __forceinline__ bool has_changed(const Context& c, i64 v) {
  i64 in_degree = degree(in_offsets(c), v), out_degree = degree(out_offsets(c), v);
  return initial(c.parameters, v, c.n, in_degree, out_degree, data_of(c, v)) != c.values[v];
}

// Whether the edge with this value, from `u` to a vertex with the value `own`, gave that vertex its value.
__device__ __forceinline__ bool gave(const Context& c, u32 u, Edge edge, Value own) {
  return gather(c.parameters, c.values[u], edge, Value{}, u) == own;
}

__device__ __forceinline__ u32 class_of(Value x) {
  u64 bits = 0;
  if (x == Value{}) x = Value{};  // -0.0 and 0.0 are the same value
  memcpy(&bits, &x, sizeof(Value));
  return (bits * 0x9E3779B97F4A7C15ull) >> 56;  // the golden ratio, as Knuth multiplies by it
}

// Whether the parents of a class push. `class_edges` has the in-edges of the vertices of each class, and after them the
// out-edges of the vertices that contribute a value of each class.
__device__ __forceinline__ bool are_pushed(const Context& c, u32 of) {
  return c.class_edges[CLASSES + of] * PUSHED_EDGE < c.class_edges[of];
}

// What `v` contributes along each of its out-edges, in programs that read no edge values.
__device__ __forceinline__ Accumulator contribution_of(const Context& c, i64 v) {
  return gather(c.parameters, c.values[v], Edge{}, Value{}, v);
}
