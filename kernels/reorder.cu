// Move edges to where they belong when the vertices get new numbers, `positions`. The edges of a destination stay
// together and keep their order; they move by the difference of the offsets of positions[v] and v.
#include "segments.cuh"

// shifts[rank] = how far the edges of each destination move.
// Launch: one thread for each vertex. Shared memory: none.
extern "C" __global__ void __launch_bounds__(THREADS) find_shifts(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool in_bounds = v < p.last_vertex;
  i64 begin = in_bounds ? in_offsets(c)[v] : 0, end = in_bounds ? in_offsets(c)[v + 1] : 0;
  u32 with_edges = __ballot_sync(FULL_MASK, begin < end);
  if (begin < end) {
    u32 rank = c.word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane_id()));
    p.shifts[rank] = Offsets{p.new_begins, c.n, c.wraps}[c.positions[v]] - begin;
  }
}

// new_sources[e + shift] = positions[sources[e]] for each edge e of the page; likewise the edge values.
// Launch: one warp for each run of the page. Shared memory: none.
extern "C" __global__ void __launch_bounds__(THREADS) reorder_edges(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  int lane = lane_id();
  u32 upto = lanes_below(lane) | 1u << lane;
#pragma unroll 4
  for (int k = 0; k < RUN / 32; k++) {
    i64 base = from + 32 * k, e = base + lane;
    u32 starts = c.starts[base >> 5] & bits_between(w.begin - base, w.end - base);
    if (e >= w.begin && e < w.end) {
      u32 rank = w.rank + w.seen + __popc(starts & upto) - 1;
      i64 to = e + p.shifts[rank];
      if (p.new_sources) p.new_sources[to] = c.positions[__ldcs(p.sources + (e - p.base_edge))];
      if constexpr (READS_EDGES)
        if (p.new_edge_values) p.new_edge_values[to] = raw_edge(p, e);
    }
    w.seen += __popc(starts);
  }
}
