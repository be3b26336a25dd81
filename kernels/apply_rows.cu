// new_v = apply(old_v, acc_v), as in apply_vertices, where values are rows: column by column, by the lanes. A column
// that has stopped keeps its value.
// Launch: one thread for VERTICES_PER_THREAD vertices of the page; the page's first vertex is a multiple of 64.
// Shared memory: what add_parts_to_tally needs.
#include "rows.cuh"

// A vertex, and the rank of its sum.
struct Gathered {
  VertexFacts vertex;
  i64 rank;
};

__device__ __forceinline__ Gathered gathered(const Context& c, i64 v, bool in_bounds) {
  VertexFacts vertex = facts_of(c, v, in_bounds);
  u32 with_edges = __ballot_sync(FULL_MASK, vertex.in_degree > 0);
  i64 rank = vertex.in_degree > 0 ? c.word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane_id())) : 0;
  return {vertex, rank};
}

// The lane's column of the sum of the contributions to a vertex, as in apply.cu.
__device__ __forceinline__ ColumnAccumulator gathered_column(
    const Context& c, const Gathered& from, const ColumnParameters& own) {
  ColumnAccumulator acc = identity_column(own);
  i64 begin = from.vertex.first_edge, end = begin + from.vertex.in_degree;
  if (begin < end) {
    acc = sum_at(c.sums, from.rank);
    i64 first = begin / RUN + 1, last = (end - 1) / RUN;
    if (last - first < MANY_RUNS)
      for (i64 run = first; run <= last; run++) acc = combine_column(acc, sum_at(c.heads, run));
  }
  return acc;
}

extern "C" __global__ void __launch_bounds__(THREADS) apply_rows(const __grid_constant__ Task t) {
  const Context& c = t.context;
  int column = column_of_lane();
  ColumnParameters own = parameters_in_column(c.parameters, column);
  ColumnTotal total{};
  bool stays = false;
  if constexpr (HAS_TOTAL) stays = has_stopped(*c.total, column);
  if constexpr (HAS_COLUMN_TOTAL) total = ((const ColumnTotal*)c.total)[column];
  auto prepare = [&](i64 v, bool in_bounds) { return gathered(c, v, in_bounds); };
  update_rows(t.page, c.next_frontier, prepare, [&](i64 v, const Gathered& from, ColumnPartial& part) {
    ColumnAccumulator acc = gathered_column(c, from, own);
    i64 in_degree = from.vertex.in_degree, out_degree = from.vertex.out_degree;
    ColumnVertexData data = data_of_column(c, v);
    ColumnValue old = column_at(c.values, v), fresh = old;
    if (!stays) fresh = apply_column(own, old, acc, total, v, c.n, in_degree, out_degree, data);
    if (has_column()) column_at(c.next_values, v) = fresh;
    if constexpr (HAS_COLUMN_TOTAL)
      part = add_total_column(part, aggregate_column(own, fresh, old, v, c.n, in_degree, out_degree, data));
    return activate_column(own, fresh, old);
  });
}
