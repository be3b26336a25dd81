// Count the vertices of the next frontier and their out-edges. With a byte map, first make the frontier of the vertices
// whose byte is not 0, which becomes 0 (Grus section 4.2.1).
// Launch: one thread for each vertex. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) scan_updated(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (v - lane_id() >= c.n) return;
  bool is_updated = v < c.n && (c.updated ? c.updated[v] != 0 : c.next_frontier[v >> 5] >> (v & 31) & 1);
  Activated done{0, 0};
  if (is_updated) count_active(c, v, done);
  u32 word = __ballot_sync(FULL_MASK, is_updated);
  if (c.updated) {
    if (is_updated) c.updated[v] = 0;
    if (lane_id() == 0) c.next_frontier[v >> 5] = word;
  }
  if (word) add_to_tally(t.page, done);
}
