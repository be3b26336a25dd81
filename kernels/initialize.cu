// Initial values, first frontier, first total: value_v = init(v); active_v = frontier(value_v).
// Launch: a thread for every eighth vertex of the page, blocks of 256; the page's first vertex is a multiple of 64.
// Shared memory: what `count` needs.

extern "C" __global__ void __launch_bounds__(256) initialize(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 first = p.first_vertex + blockIdx.x * (i64)blockDim.x * EACH + threadIdx.x;
  u64 active = 0, active_edges = 0;
  Partial part = no_total();
  for (int k = 0; k < EACH; k++) {
    i64 v = first + k * blockDim.x;
    bool inside = v < p.last_vertex, is_active = false;
    if (inside) {
      i64 in_degree = c.in_offsets[v + 1] - c.in_offsets[v], edges = c.out_offsets[v + 1] - c.out_offsets[v];
      VertexData data = data_of(c, v);
      Value value = initial(c.parameters, v, c.n, in_degree, edges, data);
      c.values[v] = value;
      if constexpr (HAS_TOTAL)
        part = add_total(part, aggregate(c.parameters, value, value, v, c.n, in_degree, edges, data));
      is_active = frontier(c.parameters, value, v, c.n, in_degree, edges, data);
      if (is_active) active_edges += edges;
    }
    u32 word = __ballot_sync(EVERYONE, is_active);
    if (lane_id() == 0 && inside) c.active[v >> 5] = word;
    active += is_active;
  }
  count(p, active, active_edges, part, blockIdx.x);
}
