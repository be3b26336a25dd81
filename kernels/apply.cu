// new_v = apply(old_v, acc_v), after gather_segmented: acc_v is what the run in which v's edges begin left in `sums`, and
// what the runs that v's edges go on through left in `heads`, added in their order (by sum_hubs where they are many).
// Launch: a thread for every eighth vertex of the page, blocks of 256; the page's first vertex is a multiple of 64.
// Shared memory: what `count` needs.

// The sum of vertex `v`'s contributions; all lanes of a warp take part, `inside` those with a vertex.
__device__ __forceinline__ Accumulator gathered(const Context& c, i64 v, bool inside) {
  i64 begin = inside ? c.in_offsets[v] : 0, end = inside ? c.in_offsets[v + 1] : 0;
  u32 with_edges = __ballot_sync(EVERYONE, begin < end);
  Accumulator acc = identity(c.parameters);
  if (begin < end) {
    acc = c.sums[c.word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane_id()))];
    i64 first = begin / RUN + 1, last = (end - 1) / RUN;  // the runs whose heads belong to v
    if (last - first < MANY_RUNS)
      for (i64 run = first; run <= last; run++) acc = combine(acc, c.heads[run]);
  }
  return acc;
}

extern "C" __global__ void __launch_bounds__(256) apply_vertices(const __grid_constant__ Task t) {
  const Context& c = t.context;
  update_block(t.page, c.activated, [&](i64 v, bool inside) {
    Accumulator acc = gathered(c, v, inside);
    Update done{false, 0, no_total()};
    if (inside) done = update_vertex(c, v, acc);
    return done;
  });
}
