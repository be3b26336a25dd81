// next_u = sum(next_u, gather(v, e)) for every edge e of the page from a vertex v of the queue to u, and the next
// frontier: the vertices whose value changed (Garaph section 2.2; Beamer et al., SC 2012). Where values are rows, all
// this is done column by column, by the lanes.
// Launch: any number of threads. Shared memory: none.
#include "chosen.cuh"
#include "push_lists.cuh"

__device__ __forceinline__ void push_page(const Context& c, const Page& p) {
  Activated done{0, 0};
  auto activated = [&](u32 u, const Value&) { count_active(c, u, done); };
  push_queued(c, p, relaxing(c, c.next_frontier, activated));
  add_to_tally(p, done);
}

extern "C" __global__ void __launch_bounds__(THREADS, HAS_ROWS ? 3 : 4) push_queue(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_page(current(t), with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS, HAS_ROWS ? 3 : 4) push_queue_packed(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_page(current(t), t.page);
}
