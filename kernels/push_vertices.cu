// Every active vertex pushes along its list (EMOGI section 4.3). All vertices are looked at: by a warp each, or, if
// `thread_each`, by a thread each (listing 1: no two edges of a list are then read at once).
// In a synchronous run `next_values` has a copy of all values.
// Launch: any number of threads. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_vertices(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  Pusher push{c, p};
  i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x, threads = (i64)gridDim.x * blockDim.x;
  i64 worker = c.thread_each ? thread : thread / 32, workers = c.thread_each ? threads : threads / 32;
  for (i64 v = worker; v < c.n; v += workers) {
    if (!(c.frontier[v >> 5] >> (v & 31) & 1)) continue;
    i64 begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
    Pushed x = pushed_by(c, v, v);
    if (!c.thread_each) {
      push_rows(c, p, x, v, begin, end, push);
      continue;
    }
    for (i64 e = begin; e < end; e++) {
      u32 u = target_of(c, e);
      Edge edge = value_in_list(c, e);
      push(u, look_at(c, u), pushed_along(c, x, edge, v));
    }
  }
  __syncwarp();
  push.end();
}
