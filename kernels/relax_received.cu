// Relax the vertices queue[first_place..last_place), of which `collected` has the values that another GPU has given them:
// next_u = sum(next_u, collected_u), and the next frontier.
// Launch: one thread for each place. Shared memory: none.
#include "relax.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) relax_received(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 place = t.page.first_place + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  Activated done{0, 0};
  auto activated = [&](u32 u, Value) { count_active(c, u, done); };
  auto relaxed = relaxing(c, c.next_frontier, activated);
  if (place < t.page.last_place) {
    u32 u = c.queue[place];
    relaxed(u, read_value(&c.values[u]), t.page.collected[place], u);
  }
  add_to_tally(t.page, done);
}
