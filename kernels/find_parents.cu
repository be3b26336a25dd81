// parent_v = the smallest in-neighbour u with gather(value_u, e) == value_v, if v no longer has its first value. Lists
// are in ascending order, so this is the first such edge. A thread looks at the first edges of a vertex, four at a time;
// its warp looks at the others, 32 at a time.
// Launch: one thread for each vertex of the page, whose edges are raw. Shared memory: none.
#include "edges.cuh"
#include "parents.cuh"

constexpr int OWN_EDGES = 32;  // edges of a vertex that one thread looks at: as many as its warp does at a time
constexpr int AT_ONCE = 4;     // edges whose loads are in flight at a time

// The first edge in [begin, end) that gave a vertex its value `own`; `end` if none did.
__device__ __forceinline__ i64 find_edge(const Context& c, const Page& p, Value own, i64 begin, i64 end) {
  for (i64 e = begin; e < end; e += AT_ONCE) {
    bool given[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) given[j] = e + j < end && gave(c, source_at(p, e + j), value_at(p, e + j), own);
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (given[j]) return e + j;
  }
  return end;
}

extern "C" __global__ void __launch_bounds__(THREADS) find_parents(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x, begin = 0, end = 0;
  Value own{};
  if (v < p.last_vertex && has_changed(c, v)) begin = c.in_offsets[v], end = c.in_offsets[v + 1], own = c.values[v];
  i64 few = min(end, begin + OWN_EDGES), found = find_edge(c, p, own, begin, few);
  for (u32 rest = __ballot_sync(FULL_MASK, found == few && few < end); rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 from = warp_shfl(few, lane), to = warp_shfl(end, lane);
    Value theirs = warp_shfl(own, lane);
    u32 lanes = 0;
    for (; from < to; from += 32) {
      i64 e = from + lane_id();
      lanes = __ballot_sync(FULL_MASK, e < to && gave(c, source_at(p, e), value_at(p, e), theirs));
      if (lanes) break;
    }
    if (lane_id() == lane) found = lanes ? from + __ffs(lanes) - 1 : end;
  }
  if (v < p.last_vertex) c.parents[v] = found < end ? source_at(p, found) : NO_VERTEX;
}
