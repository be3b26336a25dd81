// Write the active vertices that have edges to `queue`, those of a partition together, and the pieces of their long
// lists to `pieces`; not those of partitions whose vertices are not listed. As in list_frontier, a synchronous
// relaxation gets copies of their values. If deltas are applied in turn, the vertices are moved from the frontier to
// `taken`.
// Launch: one thread for each word of the frontier. Shared memory: none.
#include "partitions.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) list_partitions(const __grid_constant__ Task t) {
  const Context& c = t.context;
  auto is_listed = [&](int partition) { return c.partition_table[partition].to_queue != NOT_LISTED; };
  visit_active(c, is_listed, [&](int partition, i64 v, i64 begin, i64 end, bool is_active) {
    Partition& from = c.partition_table[partition];
    u32 bits = __ballot_sync(FULL_MASK, is_active), place = 0;
    if (lane_id() == 0 && bits) place = atomicAdd(&from.to_queue, __popc(bits));
    if (lane_id() == 0 && c.in_turn) c.taken[v >> 5] = c.frontier[v >> 5], c.frontier[v >> 5] = 0;
    u32 at = __shfl_sync(FULL_MASK, place, 0) + __popc(bits & lanes_below(lane_id()));
    if (!is_active) return;
    c.queue[at] = v;
    if constexpr (IS_RELAXATION)
      if (c.next_values != c.values) c.next_values[at] = c.values[v];
    if (!c.splits || end - begin < PIECE) return;
    u32 pieces = pieces_of(c, begin, end), to = atomicAdd(&from.to_pieces, pieces);
    for (u32 k = 0; k < pieces; k++) c.pieces[to + k] = ListPiece{at, k};
  });
}
