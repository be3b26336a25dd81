// Apply and activate, and the page's counts of active vertices and edges (Garaph section 3.1, "Apply").
#pragma once

#include "offsets.cuh"

constexpr u32 NO_VERTEX = 0xFFFFFFFFu;  // the parent of a vertex that has none

// The result of updating one vertex.
struct Update {
  bool active;    // the vertex changed
  u64 out_edges;  // its out-degree
  Partial part;   // its part of the total
};

__device__ __forceinline__ VertexData data_of(const Context& c, i64 v) {
  VertexData data{};
  if constexpr (HAS_DATA) data = c.vertex_data[v];
  return data;
}

// Compute the new value of `v` from `acc`, the sum of its contributions, and write it to the array `to`.
__device__ __forceinline__ Update update_vertex(const Context& c, i64 v, Accumulator acc, Value* to) {
  i64 in_degree = degree(in_offsets(c), v), out_edges = degree(out_offsets(c), v);
  Total total{};
  if constexpr (HAS_TOTAL) total = *c.total;
  VertexData data = data_of(c, v);
  Value old = c.values[v];
  Value fresh = apply(c.parameters, old, acc, total, v, c.n, in_degree, out_edges, data);
  to[v] = fresh;
  Partial part = no_total();
  if constexpr (HAS_TOTAL) part = aggregate(c.parameters, fresh, old, v, c.n, in_degree, out_edges, data);
  return {activate(c.parameters, fresh, old), (u64)out_edges, part};
}

// The same after a gather over all in-edges of `v`. If later iterations may push deltas to the sum, it is kept.
__device__ __forceinline__ Update update_vertex(const Context& c, i64 v, Accumulator acc) {
  if constexpr (PUSHES_DELTAS)
    if (c.kept_sums) c.kept_sums[v] = acc;
  return update_vertex(c, v, acc, c.next_values);
}

// How a warp adds up parts of the total, in the same order in every run: a lane takes a whole part.
struct WholeParts {
  // Those of a block's warps.
  __device__ __forceinline__ static void add_warps(const Partial* parts, int warps, Partial* to) {
    if (lane_id() > 0) return;
    Partial sum = parts[0];
    for (int k = 1; k < warps; k++) sum = add_total(sum, parts[k]);
    *to = sum;
  }

  // Those of all blocks.
  __device__ __forceinline__ static void add_blocks(const Partial* parts, i64 blocks, Partial* to) {
    Partial sum = no_total();
    for (i64 k = lane_id(); k < blocks; k += 32) sum = add_total(sum, ld_cg(&parts[k]));
    sum = warp_reduce(sum, add_total);
    if (lane_id() == 0) *to = sum;
  }
};

// Add the counts and partial totals of a block's threads to the page's tally; write(at) writes those of a warp. The
// block that ends last adds up those of all blocks. Shared memory: 24 bytes and 32 partial totals.
template <class Parts, class Write>
__device__ __forceinline__ void add_parts_to_tally(
    const Page& p, u64 active, u64 active_edges, i64 block, Write write) {
  __shared__ u64 counts[2];
  __shared__ Partial parts[32];
  __shared__ bool last;
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  __syncthreads();
  active = sum_over_warp(active), active_edges = sum_over_warp(active_edges);
  if constexpr (HAS_TOTAL) write(&parts[threadIdx.x >> 5]);
  if (lane_id() == 0) {
    atomicAdd(&counts[0], active);
    atomicAdd(&counts[1], active_edges);
  }
  __syncthreads();
  if constexpr (HAS_TOTAL) {
    if (threadIdx.x < 32) {
      Parts::add_warps(parts, blockDim.x >> 5, &p.partials[block]);
      __threadfence();
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) {
    if (counts[0]) atomicAdd(&p.tally->active, (u32)counts[0]);
    if (counts[1]) atomicAdd(&p.tally->active_edges, counts[1]);
    if constexpr (HAS_TOTAL) {
      last = atomicAdd(&p.tally->ended, 1) == p.blocks - 1;
      if (last) p.tally->ended = 0;
    }
  }
  if constexpr (HAS_TOTAL) {
    __syncthreads();
    __threadfence();
    if (last && threadIdx.x < 32) Parts::add_blocks(p.partials, p.blocks, &p.tally->partial);
  }
}

// The same, where each thread has its part of the total. Within a block, these are added in an order that depends only
// on the block's shape.
__device__ __forceinline__ void add_to_tally(const Page& p, u64 active, u64 active_edges, Partial part, i64 block) {
  add_parts_to_tally<WholeParts>(p, active, active_edges, block, [&](Partial* at) {
    part = warp_reduce(part, add_total);
    if (lane_id() == 0) *at = part;
  });
}

// Update the vertices of a block, VERTICES_PER_THREAD per thread, so that there are few blocks whose partial totals
// have to be added up. update(v, in_bounds) updates one vertex; all lanes of a warp call it, even those without a
// vertex. Active vertices are written to the bitmap `bits`; each warp writes whole words of it.
template <class Updater>
__device__ __forceinline__ void update_block(const Page& p, u32* bits, Updater update) {
  i64 first = p.first_vertex + blockIdx.x * (i64)blockDim.x * VERTICES_PER_THREAD + threadIdx.x;
  u64 active = 0, active_edges = 0;
  Partial part = no_total();
  for (int k = 0; k < VERTICES_PER_THREAD; k++) {
    i64 v = first + k * blockDim.x;
    bool in_bounds = v < p.last_vertex;
    Update done = update(v, in_bounds);
    u32 word = __ballot_sync(FULL_MASK, done.active);
    if (lane_id() == 0 && in_bounds) bits[v >> 5] = word;
    active += done.active;
    if (done.active) active_edges += done.out_edges;
    if constexpr (HAS_TOTAL) part = add_total(part, done.part);
  }
  add_to_tally(p, active, active_edges, part, blockIdx.x);
}
