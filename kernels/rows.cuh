// Rows by the lanes of a warp. The lanes are divided into groups of ROW_LANES, the least power of two that is not below
// COLUMNS. A group takes one row, and each of its lanes one column, so that it reads and writes the row as neighbouring
// numbers. Lanes beyond the last column do what that one's lane does, and write nothing.
#pragma once

#include "vertices.cuh"

constexpr int ROW_GROUPS = 32 / ROW_LANES;  // groups of a warp

__device__ __forceinline__ int column_of_lane() { return min(lane_id() & ROW_LANES - 1, COLUMNS - 1); }
__device__ __forceinline__ bool has_column() { return (lane_id() & ROW_LANES - 1) < COLUMNS; }
__device__ __forceinline__ int group_of_lane() { return lane_id() / ROW_LANES; }
__device__ __forceinline__ int first_of_group() { return lane_id() & -ROW_LANES; }

// The lane's column of row `k`.
__device__ __forceinline__ ColumnValue& column_at(Value* rows, i64 k) {
  return ((ColumnValue*)rows)[k * COLUMNS + column_of_lane()];
}
__device__ __forceinline__ ColumnAccumulator& sum_at(Accumulator* rows, i64 k) {
  return ((ColumnAccumulator*)rows)[k * COLUMNS + column_of_lane()];
}
__device__ __forceinline__ ColumnReport& report_at(Report* rows, i64 k) {
  return ((ColumnReport*)rows)[k * COLUMNS + column_of_lane()];
}

// What the program knows of one vertex.
struct VertexFacts {
  i64 first_edge, in_degree, out_degree;
};

__device__ __forceinline__ VertexFacts facts_of(const Context& c, i64 v, bool in_bounds) {
  if (!in_bounds) return {0, 0, 0};
  i64 begin = in_offsets(c)[v];
  return {begin, in_offsets(c)[v + 1] - begin, degree(out_offsets(c), v)};
}

__device__ __forceinline__ ColumnVertexData data_of_column(const Context& c, i64 v) {
  ColumnVertexData data{};
  if constexpr (HAS_DATA) data = data_in_column(c.vertex_data[v], column_of_lane());
  return data;
}

__device__ __forceinline__ ColumnCount add_counts(const ColumnCount& a, const ColumnCount& b) {
  return {add_total_column(a.part, b.part), a.active + b.active};
}

// The sum over the groups of a warp of what their lanes for a column have, in all of these.
__device__ __forceinline__ ColumnCount sum_over_groups(ColumnCount x) {
#pragma unroll
  for (int s = 16; s >= ROW_LANES; s >>= 1) x = add_counts(x, warp_shfl(x, (lane_id() + s) & 31));
  return x;
}

// How a warp adds up parts of the total, in the same order in every run: a group takes a part.
struct PartsByColumn {
  __device__ __forceinline__ static void add_warps(const Partial* parts, int warps, Partial* to) {
    add(warps, to, [=](i64 k) { return read_column(parts[k], column_of_lane(), [](const u64* at) { return *at; }); });
  }
  __device__ __forceinline__ static void add_blocks(const Partial* parts, i64 blocks, Partial* to) {
    add(blocks, to, [=](i64 k) {
      return read_column(parts[k], column_of_lane(), [](const u64* at) { return __ldcg(at); });
    });
  }

  template <class Read>
  __device__ __forceinline__ static void add(i64 count, Partial* to, Read read) {
    ColumnCount sum{no_total_column(), 0};
#pragma unroll 4
    for (i64 k = group_of_lane(); k < count; k += ROW_GROUPS) sum = add_counts(sum, read(k));
    sum = sum_over_groups(sum);
    if (lane_id() < COLUMNS) write_column(*to, lane_id(), sum);
  }
};

// Update the rows of a block: VERTICES_PER_THREAD times as many as it has threads. prepare(v, in_bounds), which all
// lanes of a warp call, returns what a lane knows of its vertex; update(v, known, part) updates the lane's column of a
// vertex, adds to the column's part of the total, and returns whether the column is active. A vertex is active if some
// column is. Active vertices are written to the bitmap `bits`; each warp writes whole words of it.
template <class Prepare, class Update>
__device__ __forceinline__ void update_rows(const Page& p, u32* bits, Prepare prepare, Update update) {
  i64 first = p.first_vertex + blockIdx.x * (i64)blockDim.x * VERTICES_PER_THREAD + threadIdx.x;
  int lane = lane_id();
  u64 active = 0, active_edges = 0;
  ColumnCount count{no_total_column(), 0};
  for (int k = 0; k < VERTICES_PER_THREAD; k++) {
    i64 v = first + k * blockDim.x;
    bool in_bounds = v < p.last_vertex, is_active = false;
    auto known = prepare(v, in_bounds);
#pragma unroll 4
    for (int q = 0; q < ROW_LANES; q++) {
      int owner = q * ROW_GROUPS + group_of_lane();  // the lane whose vertex the group takes
      auto its = warp_shfl(known, owner);
      i64 u = v - lane + owner;
      bool changed = u < p.last_vertex && update(u, its, count.part);
      count.active += changed;
      u32 columns = __ballot_sync(FULL_MASK, changed && has_column());
      if (lane / ROW_GROUPS == q) is_active = columns >> lane % ROW_GROUPS * ROW_LANES & FULL_MASK >> 32 - ROW_LANES;
    }
    u32 word = __ballot_sync(FULL_MASK, is_active);
    if (lane == 0 && in_bounds) bits[v >> 5] = word;
    active += is_active;
    if (is_active) active_edges += known.vertex.out_degree;
  }
  add_parts_to_tally<PartsByColumn>(p, active, active_edges, blockIdx.x, [&](Partial* at) {
    count = sum_over_groups(count);
    if (lane < COLUMNS) write_column(*at, lane, count);
  });
}
