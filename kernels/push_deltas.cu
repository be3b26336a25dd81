// For every edge e of the page from a vertex v of the queue to u: sum_u += delta(value_v, included_v, e), and u is put
// into `notified`. `kept_sums` has the sums. `next_values` has included_v, the value of v that the sums include.
// apply_notified does the rest of the superstep.
// Launch: any number of threads, after list_frontier. Shared memory: none.
#include "chosen.cuh"
#include "push_lists.cuh"

__device__ __forceinline__ void push_page_deltas(const Context& c, const Page& p) {
  push_queued(c, p, [&](u32 u, Seen, Accumulator y, u32) { add_delta(c, u, y); });
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) push_deltas(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_page_deltas(t.context, with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) push_deltas_packed(const __grid_constant__ Task t) {
  if (is_idle(t.page)) return;
  push_page_deltas(t.context, t.page);
}
