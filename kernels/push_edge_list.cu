// The sources of an edge list, which are active, push along its edges: the host has read them from disk. `sources`,
// `targets` and `edge_values` are its own, `last_edge` is its length. In a synchronous relaxation, `next_values` has the
// old values by vertex.
// Launch: one thread for each edge, after list_frontier. Shared memory: none.
#include "pushed.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_edge_list(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
#if PUSHES_DELTAS
  auto push = [&](u32 u, Seen, Accumulator y, u32) { add_delta(c, u, y); };
#else
  Activated done{0, 0};
  auto activated = [&](u32 u, Value) { count_active(c, u, done); };
  auto push = relaxing(c, c.next_frontier, activated);
#endif
  i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (k < p.last_edge) {
    u32 v = p.sources[k], u = c.targets[k];
    Edge edge{};
    if constexpr (READS_EDGES) edge = p.edge_values[k];
    push(u, look_at(c, u), pushed_along(c, pushed_by(c, v, v), edge, v), v);
  }
#if !PUSHES_DELTAS
  add_to_tally(p, done);
#endif
}
