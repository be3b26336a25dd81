// What one edge contributes.

// Edge `e` of the page with this source, into the vertex of rank `rank` (read only by programs that ask for dst).
__device__ __forceinline__ Accumulator contribution(const Context& c, const Page& p, i64 e, u32 source, u32 rank) {
  Edge edge{};
  if constexpr (READS_EDGES) edge = __ldcs(p.edge_values + (e - p.base_edge));
  Value dst{};
  if constexpr (READS_DST) dst = c.values[c.destinations[rank]];
  return gather(c.parameters, c.values[source], edge, dst, source);
}
