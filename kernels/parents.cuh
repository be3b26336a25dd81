// The in-neighbour that gave a vertex its value: the smallest u with gather(value_u, e) == value_v.
#pragma once

#include "vertices.cuh"

// Whether vertex `v` no longer has its first value.
__device__ __forceinline__ bool has_changed(const Context& c, i64 v) {
  i64 in_degree = degree(c.in_offsets, v), out_degree = degree(c.out_offsets, v);
  return initial(c.parameters, v, c.n, in_degree, out_degree, data_of(c, v)) != c.values[v];
}

// Whether the edge with this value, from `u` to a vertex with the value `own`, gave that vertex its value.
__device__ __forceinline__ bool gave(const Context& c, u32 u, Edge edge, Value own) {
  return gather(c.parameters, c.values[u], edge, Value{}, u) == own;
}
