// parent_v = the smallest in-neighbour u with gather(value_u, e) == value_v, if v no longer has its first value, as in
// find_parents, from packed sources. `parents` has NO_VERTEX for all vertices before.
// Launch: one warp for each run of the page. Shared memory: none.
#include "packed_sources.cuh"
#include "parents.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) find_parents_packed(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  PackedSources packed = packed_sources(p, run);
  PackedEdges values = packed_edges(p, run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (base + STEP <= w.begin || base >= w.end) continue;
    SegmentStarts s = find_starts<false>(c, w, base);
    u32 rank = w.rank + s.before - 1, u[4];
    Edge edges[4];
    unpack_sources(packed, k, s, u, c.n - 1);
    if (values.packed) unpack_values(values, k, edges); else raw_edges<false>(p, w.begin, w.end, e, edges);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      rank += s.mine >> j & 1;
      if (e + j < w.begin || e + j >= w.end) continue;
      u32 v = c.destinations[rank];
      if (gave(c, u[j], edges[j], c.values[v]) && u[j] < ld_cg(&c.parents[v]) && has_changed(c, v))
        atomicMin(&c.parents[v], u[j]);
    }
    w.seen = s.all;
  }
}
