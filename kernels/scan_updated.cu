// Count the vertices of the next frontier and their out-edges. With a byte map, first make the frontier of the vertices
// whose byte is not 0, which becomes 0 (Grus section 4.2.1).
// Launch: any number of threads. Shared memory: none.
#include "activated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) scan_updated(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x, threads = (i64)gridDim.x * blockDim.x;
  Activated done{0, 0};
  for (i64 v = thread; v - lane_id() < c.n; v += threads) {
    bool is_updated = v < c.n && (c.updated ? c.updated[v] != 0 : c.next_frontier[v >> 5] >> (v & 31) & 1);
    if (is_updated) count_active(c, v, done);
    if (!c.updated) continue;
    if (is_updated) c.updated[v] = 0;
    u32 word = __ballot_sync(FULL_MASK, is_updated);
    if (lane_id() == 0) c.next_frontier[v >> 5] = word;
  }
  add_to_tally(t.page, done);  // once a warp: they all add to the same two numbers
}
