// new_v = apply(old_v, acc_v), where acc_v is the sum over the active in-neighbours of v until `done` holds (the
// bottom-up step of Beamer et al., SC 2012). For relaxations: the contributions of inactive neighbours are in old_v. A
// thread takes the first FEW edges of a vertex: it loads some at a time, and asks `done` after each active one. Its warp
// takes the others, 32 at a time, and asks after these. Packed sources are decoded from the first one of the vertex on.
// Where `hints` are kept, the first to be asked is the in-neighbour at which the last gather ended, in this run or an
// earlier one: if it is active, no edge is read. Its edge may be visited again, as sums of relaxations are idempotent.
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_to_tally needs.
#include "chosen.cuh"
#include "edges.cuh"
#include "packed_lists.cuh"
#include "vertices.cuh"

constexpr int FEW = 32;        // edges of a vertex that one thread takes: as many as its warp takes at a time
constexpr int RAW_AT_ONCE = 2;  // raw edges of a thread whose loads are in flight at a time

__device__ __forceinline__ bool is_active(const Context& c, u32 u) { return c.frontier[u >> 5] >> (u & 31) & 1; }

// Where the vertex's hint is; null if none are kept, or if it takes an edge's value to know what the hint contributes.
__device__ __forceinline__ u32* hint_of(const Context& c, i64 v) {
  return READS_EDGES || !c.hints ? nullptr : c.hints + v;
}

// The sum `acc` and what edge `e` from vertex `u` adds to it.
__device__ __forceinline__ Accumulator with_edge(const Context& c, const Page& p, i64 e, u32 u, Accumulator acc) {
  return combine(acc, gather(c.parameters, c.values[u], value_of(p, e), Value{}, u));
}

// The sum for a vertex with the value `old` and the edges [begin, end). All lanes of a warp must call it.
template <int AT_ONCE>
__device__ __forceinline__ Accumulator
sum_until_done(const Context& c, const Page& p, Value old, i64 begin, i64 end, u32* hint) {
  Accumulator acc = identity(c.parameters);
  i64 e = begin, few = min(end, begin + FEW);
  bool going = begin < end && !done(c.parameters, acc, old);
  u32 source = 0, hinted = going && hint ? *hint : 0;
  if (hinted && is_active(c, hinted - 1)) {
    acc = combine(acc, gather(c.parameters, c.values[hinted - 1], Edge{}, Value{}, hinted - 1));
    going = !done(c.parameters, acc, old);
  }
  while (going && e < few) {
    u32 u[AT_ONCE];
    bool wanted[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (e + j < few) source = u[j] = next_source(c, p, e + j, source);
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) wanted[j] = e + j < few && is_active(c, u[j]);
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      if (!going || !wanted[j]) continue;
      acc = with_edge(c, p, e + j, u[j], acc);
      going = !done(c.parameters, acc, old);
      if (!going && hint) *hint = u[j] + 1;
    }
    e = min(e + AT_ONCE, few);
  }
  u32 rest = __ballot_sync(FULL_MASK, going && e < end);
  for (; rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    i64 from = warp_shfl(e, lane), to = warp_shfl(end, lane);
    Accumulator sum = warp_shfl(acc, lane);
    Value own = warp_shfl(old, lane);
    u32 carry = warp_shfl(source, lane), found = 0;
    for (; from < to && !done(c.parameters, sum, own); from += 32) {
      i64 at = from + lane_id();
      Accumulator x = identity(c.parameters);
      u32 u = at < to ? stored_source(p, at) : 0;
      if (p.records) u = source_in_row(c, u, -1, carry);
      bool wanted = at < to && is_active(c, u);
      if (wanted) x = with_edge(c, p, at, u, x);
      sum = combine(sum, warp_reduce(x, combine));
      u32 lanes = __ballot_sync(FULL_MASK, wanted);
      if (lanes) found = warp_shfl(u, __ffs(lanes) - 1) + 1;
    }
    if (lane_id() == lane) {
      acc = sum;
      if (hint && found && done(c.parameters, sum, own)) *hint = found;
    }
  }
  return acc;
}

template <int AT_ONCE>
__device__ __forceinline__ void gather_page(const Context& c, const Page& p) {
  update_block(p, c.next_frontier, [&](i64 v, bool in_bounds) {
    i64 begin = in_bounds ? in_offsets(c)[v] : 0, end = in_bounds ? in_offsets(c)[v + 1] : 0;
    Accumulator acc =
        sum_until_done<AT_ONCE>(c, p, in_bounds ? c.values[v] : Value{}, begin, end, hint_of(c, v));
    Update done{false, 0, no_total()};
    if (in_bounds) done = update_vertex(c, v, acc);
    return done;
  });
}

extern "C" __global__ void __launch_bounds__(THREADS, 6) gather_until_done(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  gather_page<RAW_AT_ONCE>(current(t), with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_until_done_packed(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  gather_page<1>(current(t), t.page);
}
