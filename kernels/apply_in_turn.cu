// After some vertices have pushed deltas, while others of the frontier have yet to: included_v = value_v for every v of
// the page that is `taken`, because the sums now include its value; then value_v = apply(value_v, sum_v) for every
// notified v. Those that become active join the frontier (HyTGraph section VI-A).
// Launch: any number of threads. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) apply_in_turn(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 warp = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, warps = (i64)gridDim.x * blockDim.x / 32;
  for (i64 word = warp; word < (c.n + 31) / 32; word += warps) {
    bool is_inside = word * 32 >= t.page.first_vertex && word * 32 < t.page.last_vertex;
    u32 notified = c.notified[word], taken = is_inside ? c.taken[word] : 0;
    if (!(notified | taken)) continue;
    i64 v = word * 32 + lane_id();
    if (taken >> lane_id() & 1) c.next_values[v] = c.values[v];
    bool is_active = notified >> lane_id() & 1 && update_vertex(c, v, c.kept_sums[v], c.values).active;
    u32 active = __ballot_sync(FULL_MASK, is_active);
    if (lane_id() != 0) continue;
    c.frontier[word] = (c.frontier[word] & ~taken) | active;
    c.notified[word] = 0;
    if (taken) c.taken[word] = 0;
  }
}
