// What edges contribute, and their values.

// An edge with this source and value, into the vertex of rank `rank` (read only by programs that ask for dst).
__device__ __forceinline__ Accumulator contribution(const Context& c, u32 source, Edge edge, u32 rank) {
  Value dst{};
  if constexpr (READS_DST) dst = c.values[c.destinations[rank]];
  return gather(c.parameters, c.values[source], edge, dst, source);
}

// The value of edge `e`, where they are stored as they are.
__device__ __forceinline__ Edge raw_value(const Page& p, i64 e) {
  Edge edge{};
  if constexpr (READS_EDGES) edge = __ldcs(p.edge_values + (e - p.base_edge));
  return edge;
}

// Those of the four edges from `e` on; unless WHOLE, of those in [begin, end).
template <bool WHOLE>
__device__ __forceinline__ void raw_values(const Page& p, i64 begin, i64 end, i64 e, Edge* edges) {
#pragma unroll
  for (int j = 0; j < 4; j++) edges[j] = WHOLE || (e + j >= begin && e + j < end) ? raw_value(p, e + j) : Edge{};
}

// A run's values, packed: what each exceeds the least of them by.
struct PackedValues {
  bool packed;
  i64 base;
  Groups groups;
};

__device__ __forceinline__ PackedValues packed_values(const Page& p, i64 run) {
  PackedValues values{};
  if constexpr (INTEGER_EDGES) {
    values.packed = p.value_records != nullptr;
    if (values.packed) {
      const Record* record = p.value_records + (run - p.base_edge / RUN);
      values.base = record->base;
      values.groups = groups_of(record, p.value_words, p.first_value_word);
    }
  }
  return values;
}

__device__ __forceinline__ void four_values(const PackedValues& values, int k, Edge* edges) {
  u32 numbers[4];
  four_numbers(values.groups, k, numbers);
#pragma unroll
  for (int j = 0; j < 4; j++) edges[j] = (Edge)(values.base + numbers[j]);
}
