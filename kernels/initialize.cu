// Initial values, first frontier, first total: value_v = init(v); active_v = frontier(value_v).
// Launch: a thread a vertex of the page, blocks of 256; the page's first vertex is a multiple of 64. Shared: 272 bytes.

extern "C" __global__ void __launch_bounds__(256) initialize(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 v = p.first_vertex + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool is_active = false;
  u64 out_edges = 0;
  Partial part = no_total();
  if (v < p.last_vertex) {
    i64 in_degree = c.in_offsets[v + 1] - c.in_offsets[v];
    i64 edges = c.out_offsets[v + 1] - c.out_offsets[v];
    VertexData data = data_of(c, v);
    Value value = initial(c.parameters, v, c.n, in_degree, edges, data);
    c.values[v] = value;
    if constexpr (HAS_TOTAL) part = aggregate(c.parameters, value, value, v, c.n, in_degree, edges, data);
    is_active = frontier(c.parameters, value, v, c.n, in_degree, edges, data);
    out_edges = is_active ? edges : 0;
  }
  u32 word = __ballot_sync(EVERYONE, is_active);
  if (lane_id() == 0 && v < p.last_vertex) c.active[v >> 5] = word;
  count(p, is_active, out_edges, part, blockIdx.x);
}
