// Counting the vertices that the threads of a kernel have activated, and their out-edges; bitmaps of vertices.
#pragma once

#include "offsets.cuh"

// The vertices that a thread has activated.
struct Activated {
  u32 count;
  u64 edges;
};

__device__ __forceinline__ void count_active(const Context& c, u32 u, Activated& done) {
  done.count++;
  done.edges += out_offsets(c)[u + 1] - out_offsets(c)[u];
}

// The sum of what the threads of a warp have activated, in every lane.
__device__ __forceinline__ Activated sum_over_warp(Activated done) {
  return {sum_over_warp(done.count), sum_over_warp(done.edges)};
}

// Add what a warp has activated to the tally.
__device__ __forceinline__ void add_to_tally(const Page& p, Activated done) {
  done = sum_over_warp(done);
  if (lane_id() == 0 && done.count) {
    atomicAdd(&p.tally->active, done.count);
    atomicAdd(&p.tally->active_edges, done.edges);
  }
}

// Set bit `u` of a bitmap; return whether it was 0.
__device__ __forceinline__ bool mark(u32* bits, u32 u) {
  u32 bit = 1u << (u & 31);
  return !(atomicOr(&bits[u >> 5], bit) & bit);
}

__device__ __forceinline__ void unmark(u32* bits, u32 u) { atomicAnd(&bits[u >> 5], ~(1u << (u & 31))); }
