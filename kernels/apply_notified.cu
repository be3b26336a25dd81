// After push_deltas: included_v = value_v for every active v, because the sums now include its value; then
// value_v = apply(value_v, sum_v) for every notified v, in place, as apply reads no other vertex; and the next frontier.
// Launch: one thread for VERTICES_PER_THREAD vertices. Shared memory: what add_to_tally needs.
#include "chosen.cuh"
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) apply_notified(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  const Context& c = t.context;
  update_block(t.page, c.next_frontier, [&](i64 v, bool in_bounds) {
    Update done{false, 0, no_total()};
    if (!in_bounds) return done;
    u32 bit = 1u << (v & 31);
    if (c.frontier[v >> 5] & bit) c.next_values[v] = c.values[v];
    if (c.notified[v >> 5] & bit) done = update_vertex(c, v, c.kept_sums[v], c.values);
    return done;
  });
}
