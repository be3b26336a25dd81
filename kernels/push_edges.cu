// next_u = sum(next_u, gather(v, e)) for every edge e from an active vertex v to u, and the next frontier: the vertices
// whose next value changed (Garaph section 2.2; Beamer et al., SC 2012). The graph is undirected: the sources in the list
// of v are the vertices that v pushes to.
// Launch: one warp for each run of the page. Shared memory: none.
#include "packed_sources.cuh"
#include "relax.cuh"

// Whether vertex `v` is in the frontier.
__device__ __forceinline__ bool is_active(const Context& c, u32 v) { return c.frontier[v >> 5] >> (v & 31) & 1; }

// Whether a vertex with edges in the run may be active: whether any is in the words of the frontier from the run's first
// vertex to its last.
__device__ __forceinline__ bool any_active(const Context& c, const Page& p, const RunState& w) {
  i64 first = max((i64)w.rank - 1, p.first_rank), next = w.run + 1;
  i64 last = next * RUN < p.last_edge ? c.run_ranks[next] : p.last_rank;
  u32 from = c.destinations[first] >> 5, to = c.destinations[last - 1] >> 5;
  bool any = false;
  for (u32 word = from + lane_id(); word <= to; word += 32) any |= c.frontier[word] != 0;
  return __any_sync(FULL_MASK, any);
}

// Push the contribution `x` to vertex `u`.
__device__ __forceinline__ void push_to(const Context& c, u32 u, Accumulator x, Activated& done) {
  Value* at = &c.next_values[u];
  if (relax(c, at, read_value(at), x) && put_in_frontier(c, u)) count_active(c, u, done);
}

extern "C" __global__ void __launch_bounds__(THREADS) push_edges(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  if (!any_active(c, p, w)) return;
  PackedSources packed = packed_sources(p, run);
  PackedEdges values = packed_edges(p, run);
  Activated done{0, 0};
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (base + STEP <= w.begin || base >= w.end) continue;
    SegmentStarts s = find_starts<false>(c, w, base);
    u32 rank = w.rank + s.before - 1, wanted = 0, u[4], v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      rank += s.mine >> j & 1;
      if (e + j < w.begin || e + j >= w.end) continue;
      v[j] = c.destinations[rank];
      wanted |= is_active(c, v[j]) << j;
    }
    w.seen = s.all;
    bool any = __any_sync(FULL_MASK, wanted);
    if (p.records) {
      unpack_sources(packed, k, s, u, c.n - 1);
    } else if (any) {
      uint4 four = __ldcs((const uint4*)(p.sources + (e - p.base_edge)));
      u[0] = four.x, u[1] = four.y, u[2] = four.z, u[3] = four.w;
    }
    if (!any) continue;
    Edge edges[4];
    if (values.packed) unpack_values(values, k, edges); else raw_edges<false>(p, w.begin, w.end, e, edges);
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (wanted >> j & 1) push_to(c, u[j], gather(c.parameters, c.values[v[j]], edges[j], Value{}, v[j]), done);
  }
  add_to_tally(p, done);
}
