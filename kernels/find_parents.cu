// parent_v = the smallest in-neighbour u with gather(value_u, e) == value_v, if v no longer has its first value. Lists
// are in ascending order, so this is the first such edge. A thread looks at the first edges of a vertex, and its warp at
// the others, 32 at a time. Vertices whose parents push (parents.cuh) are left out.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "edges.cuh"
#include "packed_lists.cuh"
#include "parents.cuh"

constexpr int OWN_EDGES = 32;  // edges of a vertex that one thread looks at: as many as its warp does at a time

// The first of the edges [begin, end) that gave a vertex its value `own`, or `end` if none did; `source` becomes its
// source, or that of the last edge.
__device__ __forceinline__ i64 find_edge(const Context& c, const Page& p, Value own, i64 begin, i64 end, u32& source) {
  for (i64 e = begin; e < end; e++) {
    source = next_source(c, p, e, source);
    if (gave(c, source, value_of(p, e), own)) return e;
  }
  return end;
}

__device__ __forceinline__ void find_parents_of(const Context& c, const Page& p) {
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x, begin = 0, end = 0;
  Value own = v < p.last_vertex ? c.values[v] : Value{};
  bool looks = v < p.last_vertex && !are_pushed(c, class_of(own));
  if (looks && has_changed(c, v)) begin = in_offsets(c)[v], end = in_offsets(c)[v + 1];
  u32 source = 0, parent = NO_VERTEX;
  i64 few = min(end, begin + OWN_EDGES), found = find_edge(c, p, own, begin, few, source);
  if (found < few) parent = source;
  for (u32 rest = __ballot_sync(FULL_MASK, found == few && few < end); rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 from = warp_shfl(few, lane), to = warp_shfl(end, lane);
    Value theirs = warp_shfl(own, lane);
    u32 carry = warp_shfl(source, lane), lanes = 0, u = 0;
    for (; from < to && !lanes; from += 32) {
      i64 e = from + lane_id();
      u = e < to ? stored_source(p, e) : 0;
      if (p.records) u = source_in_row(c, u, -1, carry);
      lanes = __ballot_sync(FULL_MASK, e < to && gave(c, u, value_of(p, e), theirs));
    }
    u32 first = warp_shfl(u, lanes ? __ffs(lanes) - 1 : 0);
    if (lane_id() == lane && lanes) parent = first;
  }
  if (looks) c.parents[v] = parent;
}

extern "C" __global__ void __launch_bounds__(THREADS) find_parents(const __grid_constant__ Task t) {
  find_parents_of(t.context, with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS) find_parents_packed(const __grid_constant__ Task t) {
  find_parents_of(t.context, t.page);
}
