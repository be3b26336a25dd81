// target_values[o(e)] = edge_values[e] for every edge e of the page, where o(e) is the number of e among the out-edges, if
// this GPU has the list of the edge's source. Both lists with e ascend, so two binary searches find o(e): parallel edges
// follow each other in both, in the same order.
// Launch: one warp for each run of the page. Shared memory: none.
#include "segments.cuh"

// The number of the first of the ends [begin, end), which ascend, that is not less than `v`; `end` if there is none.
__device__ __forceinline__ i64 lower_bound(const u32* ends, i64 begin, i64 end, u32 v) {
  while (begin < end) {
    i64 middle = begin + (end - begin) / 2;
    if (ends[middle] < v) begin = middle + 1; else end = middle;
  }
  return begin;
}

extern "C" __global__ void __launch_bounds__(THREADS) reverse_values(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, first = base + 4 * lane_id();
    if (base + STEP <= w.begin || base >= w.end) continue;
    SegmentStarts s = find_starts<false>(c, w, base);
    w.seen = s.all;
    u32 rank = w.rank + s.before - 1;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      rank += s.mine >> j & 1;
      i64 e = first + j, own = e - p.base_edge;
      if (e < w.begin || e >= w.end) continue;
      u32 u = p.sources[own], v = c.destinations[rank];
      i64 end = out_offsets(c)[u + 1];
      if (out_offsets(c)[u] < c.first_target || end > c.last_target) continue;
      i64 parallel = own - lower_bound(p.sources, in_offsets(c)[v] - p.base_edge, own, u);
      end -= c.first_target;
      i64 at = lower_bound(c.targets, out_offsets(c)[u] - c.first_target, end, v) + parallel;
      if (at < end) c.target_values[at] = raw_edge(p, e);  // else the out-edges are of another graph
    }
  }
}
