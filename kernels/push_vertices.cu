// Every active vertex pushes along its list (EMOGI section 4.3): with a warp or, if `thread_each`, with a thread, which
// reads no two edges at once (listing 1). Blocks begin in the order of vertices, so that what all of them read at a time
// lies close together: over a large list, lines that lie anywhere come eight times slower over the link.
// In a synchronous run `next_values` has a copy of all values.
// Launch: one warp, or one thread, for each vertex. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 4) push_vertices(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x, v = c.thread_each ? thread : thread / 32;
  if (v >= c.n || !(c.frontier[v >> 5] >> (v & 31) & 1)) return;
  i64 begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
  Pushed x = pushed_by(c, v, v);
  if (!c.thread_each) {
    push_rows(c, x, v, begin, end);
    return;
  }
  for (i64 e = begin; e < end; e++) {
    u32 u = target_of(c, e);
    Edge edge = value_in_list(c, e);
    push_to<1>(c, &u, &edge, 1, x, v);
  }
}
