// Move the page's vertices that are to push to `taken`, and count them: those that have changed in this iteration or,
// if deltas are applied in turn, those of the frontier (HyTGraph section VI-A).
// Launch: one thread for each vertex of the page, which begins at a multiple of 32 vertices. Shared memory: none.
#include "activated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) take_frontier(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = t.page.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v - lane_id() >= t.page.last_vertex) return;
  bool is_updated = c.updated && v < t.page.last_vertex && c.updated[v];
  u32 word = __ballot_sync(FULL_MASK, is_updated);
  if (is_updated) c.updated[v] = 0;
  u32* bits = c.in_turn ? c.frontier : c.next_frontier;
  if (!c.updated) {
    if (lane_id() == 0) word = atomicExch(&bits[v >> 5], 0);
    word = __shfl_sync(FULL_MASK, word, 0);
  }
  if (lane_id() == 0) c.taken[v >> 5] = word;
  Activated done{0, 0};
  if (word >> lane_id() & 1) count_active(c, v, done);
  add_to_tally(t.page, done);
}
