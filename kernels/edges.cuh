// What a single edge contributes, and how the values of edges are read.
#pragma once

#include "offsets.cuh"
#include "packed.cuh"

// The contribution of an edge with this source and value. `rank` is the rank of its destination; only programs that ask
// for dst read it.
__device__ __forceinline__ Accumulator contribution(const Context& c, u32 source, Edge edge, u32 rank) {
  Value dst{};
  if constexpr (READS_DST) dst = c.values[c.destinations[rank]];
  return gather(c.parameters, c.values[source], edge, dst, source);
}

// The value of edge `e`, where values are not packed.
__device__ __forceinline__ Edge raw_edge(const Page& p, i64 e) {
  Edge edge{};
  if constexpr (READS_EDGES) edge = __ldcs(p.edge_values + (e - p.base_edge));
  return edge;
}

// The page as a kernel for raw edges takes it: the compiler then leaves out what decodes packed ones.
__device__ __forceinline__ Page with_raw_edges(Page p) {
  p.records = p.value_records = nullptr;
  return p;
}

// Whether edge `e` is in the GPU's memory; if not, it is in the host's. For kernels that push from lists.
__device__ __forceinline__ bool is_here(const Page& p, i64 e) { return e >= p.base_edge && e < p.first_mapped; }

// The value of edge `e`, packed or not. For kernels that push from lists, some edges may be in host memory.
__device__ __forceinline__ Edge value_of(const Page& p, i64 e) {
  if constexpr (INTEGER_EDGES) {
    if (p.value_records) {
      const Record* record = p.value_records + (e / RUN - p.base_edge / RUN);
      const u32* words = is_here(p, e) ? p.value_words - p.first_value_word : p.mapped_value_words;
      return (Edge)(record->base + unpack_one(record, words, e % RUN));
    }
  }
  if constexpr (READS_EDGES) return is_here(p, e) ? raw_edge(p, e) : p.mapped_values[e];
  return Edge{};
}

// The values of the four edges from `e` on. Unless WHOLE, edges outside [begin, end) are not read.
template <bool WHOLE>
__device__ __forceinline__ void raw_edges(const Page& p, i64 begin, i64 end, i64 e, Edge* edges) {
#pragma unroll
  for (int j = 0; j < 4; j++) edges[j] = WHOLE || (e + j >= begin && e + j < end) ? raw_edge(p, e + j) : Edge{};
}

// The packed values of a run's edges: each is `base`, which is the smallest value, plus a packed number.
struct PackedEdges {
  bool packed;
  i64 base;
  Groups groups;
};

__device__ __forceinline__ PackedEdges packed_edges(const Page& p, i64 run) {
  PackedEdges values{};
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

// The values of the lane's four edges among the 128 edges of step `k`.
__device__ __forceinline__ void unpack_values(const PackedEdges& values, int k, Edge* edges) {
  u32 numbers[4];
  unpack_four(values.groups, k, numbers);
#pragma unroll
  for (int j = 0; j < 4; j++) edges[j] = (Edge)(values.base + numbers[j]);
}
