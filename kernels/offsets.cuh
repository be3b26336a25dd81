// Where the edge lists of vertices begin: offsets of 64 bits, of which an array has the low 32 (offsets.py).
#pragma once

#include "garaph_generated.cuh"

// The list of vertex v has the edges from [v] to [v + 1].
struct Offsets {
  const u32* low;  // the low 32 bits of n + 1 offsets; then, from the next multiple of 8 bytes on, the `wraps`
  i64 n;           // vertices
  i64 count;       // wraps: each is the first vertex whose offset has a larger high part than those before

  __device__ __forceinline__ i64 operator[](i64 v) const {
    const i64* wraps = (const i64*)(low + (n + 2) / 2 * 2);
    i64 high = 0;
    while (high < count && v >= wraps[high]) high++;
    return high << 32 | low[v];
  }
};

__device__ __forceinline__ i64 degree(const Offsets& offsets, i64 v) { return offsets[v + 1] - offsets[v]; }
__device__ __forceinline__ Offsets in_offsets(const Context& c) { return {c.in_begins, c.n, c.wraps}; }
__device__ __forceinline__ Offsets out_offsets(const Context& c) { return {c.out_begins, c.n, c.wraps}; }
