// new_v = apply(old_v, acc_v), where acc_v is the sum over the active in-neighbours of v until `done` holds (the
// bottom-up step of Beamer et al., SC 2012). For relaxations: the contributions of inactive neighbours are in old_v. A
// thread takes the first FEW edges of a vertex, and asks `done` after each; its warp takes the others, 32 at a time, and
// asks after these.
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_to_tally needs.
#include "edges.cuh"
#include "vertices.cuh"

constexpr int FEW = 32;  // edges of a vertex that one thread takes: as many as its warp takes at a time

// The sum `acc` and what edge `e` of vertex `v` adds to it, if its source is active.
__device__ __forceinline__ Accumulator with_edge(const Context& c, const Page& p, i64 e, Accumulator acc) {
  u32 u = p.sources[e - p.base_edge];
  if (!(c.frontier[u >> 5] >> (u & 31) & 1)) return acc;
  return combine(acc, gather(c.parameters, c.values[u], raw_edge(p, e), Value{}, u));
}

// The sum for a vertex with the value `old` and the edges [begin, end). All lanes of a warp must call it.
__device__ __forceinline__ Accumulator sum_until_done(const Context& c, const Page& p, Value old, i64 begin, i64 end) {
  Accumulator acc = identity(c.parameters);
  i64 e = begin, few = min(end, begin + FEW);
  bool going = begin < end && !done(c.parameters, acc, old);
  while (going && e < few) {
    acc = with_edge(c, p, e++, acc);
    going = !done(c.parameters, acc, old);
  }
  u32 rest = __ballot_sync(FULL_MASK, going && e < end);
  for (; rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 from = warp_shfl(e, lane), to = warp_shfl(end, lane);
    Accumulator sum = warp_shfl(acc, lane);
    Value own = warp_shfl(old, lane);
    for (; from < to && !done(c.parameters, sum, own); from += 32) {
      Accumulator x = identity(c.parameters);
      if (from + lane_id() < to) x = with_edge(c, p, from + lane_id(), x);
      sum = combine(sum, warp_reduce(x, combine));
    }
    if (lane_id() == lane) acc = sum;
  }
  return acc;
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_until_done(const __grid_constant__ Task t) {
  const Context& c = t.context;
  update_block(t.page, c.next_frontier, [&](i64 v, bool in_bounds) {
    i64 begin = in_bounds ? c.in_offsets[v] : 0, end = in_bounds ? c.in_offsets[v + 1] : 0;
    Accumulator acc = sum_until_done(c, t.page, in_bounds ? c.values[v] : Value{}, begin, end);
    Update done{false, 0, no_total()};
    if (in_bounds) done = update_vertex(c, v, acc);
    return done;
  });
}
