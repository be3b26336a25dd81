// parent_u = the smallest v of the queue with an edge to u and gather(value_v) == value_u, if u no longer has its first
// value (parents.cuh). `parents` has NO_VERTEX for all vertices before.
// Launch: any number of threads, after find_pushers and list_frontier. Shared memory: none.
#include "parents.cuh"
#include "push_lists.cuh"

__device__ __forceinline__ void push_parents_of(const Context& c, const Page& p) {
  push_queued(c, p, [&](u32 u, Value seen, Accumulator y, u32 v) {
    if (y == seen && v < ld_cg(&c.parents[u]) && has_changed(c, u)) atomicMin(&c.parents[u], v);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) push_parents(const __grid_constant__ Task t) {
  push_parents_of(t.context, with_raw_edges(t.page));
}

extern "C" __global__ void __launch_bounds__(THREADS) push_parents_packed(const __grid_constant__ Task t) {
  push_parents_of(t.context, t.page);
}
