// new_v = apply(old_v, acc_v), after gather_segmented or gather_packed. acc_v is the sum in `sums`, from the run in
// which v's edges begin, plus the sums in `heads`, from the following runs with edges of v, in their order. If there
// are more than MANY_RUNS of these, sum_hubs has added them to `sums` already.
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_to_tally needs.
#include "vertices.cuh"

// The sum of the contributions to vertex `v`. All lanes of a warp must call it; `in_bounds` is false in lanes without a
// vertex.
__device__ __forceinline__ Accumulator gathered_sum(const Context& c, i64 v, bool in_bounds) {
  i64 begin = in_bounds ? in_offsets(c)[v] : 0, end = in_bounds ? in_offsets(c)[v + 1] : 0;
  u32 with_edges = __ballot_sync(FULL_MASK, begin < end);
  Accumulator acc = identity(c.parameters);
  if (begin < end) {
    acc = c.sums[c.word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane_id()))];
    i64 first = begin / RUN + 1, last = (end - 1) / RUN;  // the runs whose heads belong to v
    if (last - first < MANY_RUNS)
      for (i64 run = first; run <= last; run++) acc = combine(acc, c.heads[run]);
  }
  return acc;
}

extern "C" __global__ void __launch_bounds__(THREADS) apply_vertices(const __grid_constant__ Task t) {
  const Context& c = t.context;
  update_block(t.page, c.next_frontier, [&](i64 v, bool in_bounds) {
    Accumulator acc = gathered_sum(c, v, in_bounds);
    Update done{false, 0, no_total()};
    if (in_bounds) done = update_vertex(c, v, acc);
    return done;
  });
}
