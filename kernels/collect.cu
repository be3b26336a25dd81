// The state by the user's numbers: collected[u - first] = value_v, and bit u - first of collected_bits is bit v of the
// frontier, where v is the GPU's number of vertex u.
// The bits are written up to a multiple of 64; those beyond the page are zeros.
// Launch: one thread for each vertex of the page. Shared memory: none.
#include "vertices.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) collect(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 u = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool in_bounds = u < p.last_vertex;
  i64 v = in_bounds ? c.positions[u] : 0;
  if (p.collected && in_bounds) p.collected[u - p.first_vertex] = c.values[v];
  if (p.collected_bits) {
    u32 word = __ballot_sync(FULL_MASK, in_bounds && c.frontier[v >> 5] >> (v & 31) & 1);
    i64 at = (u - p.first_vertex) >> 5;
    if (lane_id() == 0 && at < (p.last_vertex - p.first_vertex + 63) / 64 * 2) p.collected_bits[at] = word;
  }
}
