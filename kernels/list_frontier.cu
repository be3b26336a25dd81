// Write the active vertices to `queue`, in any order, and cut long edge lists into pieces. In a synchronous relaxation
// the second array of values, which a push does not need, gets the values of the queue's vertices, by their places or by
// vertex: the push overwrites `values`. The next frontier is cleared, and so is the set of notified vertices, unless all
// are notified.
// Launch: one thread for each word of the frontier. Shared memory: none.
#include "chosen.cuh"
#include "pieces.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) list_frontier(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  Context c = current(t);
  i64 word = blockIdx.x * (i64)blockDim.x + threadIdx.x, first = word - lane_id();
  bool in_bounds = word < (c.n + 31) / 32;
  u32 mine = in_bounds ? c.frontier[word] : 0;
  if (in_bounds) c.next_frontier[word] = 0;
  if constexpr (PUSHES_DELTAS)
    if (in_bounds && !c.pushes_all) c.notified[word] = 0;
  u32 count = warp_reduce((u32)__popc(mine), [](u32 x, u32 y) { return x + y; });
  if (!count) return;
  u32 place = 0;
  if (lane_id() == 0) place = atomicAdd(&t.page.tally->queued, count);
  place = __shfl_sync(FULL_MASK, place, 0);
  for (u32 rest = __ballot_sync(FULL_MASK, mine); rest; rest &= rest - 1) {
    int lane = __ffs(rest) - 1;
    u32 bits = __shfl_sync(FULL_MASK, mine, lane), at = place + __popc(bits & lanes_below(lane_id()));
    place += __popc(bits);
    if (!(bits >> lane_id() & 1)) continue;
    i64 v = (first + lane) * 32 + lane_id(), begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
    c.queue[at] = v;
    if constexpr (IS_RELAXATION)
      if (c.next_values != c.values) c.next_values[c.copies_by_vertex ? v : at] = c.values[v];
    list_pieces(c, &t.page.tally->pieces, at, begin, end);
  }
}
