// Add a contribution to the value of a vertex that other threads add to, too. For relaxations, whose values are numbers
// of 4 or 8 bytes, and whose `apply` is their sum.
#pragma once

#include "activated.cuh"

// The value at `at`, which other threads may be writing.
__device__ __forceinline__ Value read_value(const Value* at) {
  typedef typename Word<sizeof(Value)>::type word_t;
  word_t word = *(const volatile word_t*)at;
  Value value;
  memcpy(&value, &word, sizeof(Value));
  return value;
}

// Add `x` to the value at `at`, which was `old` a moment ago; return whether that changed it.
__device__ __forceinline__ bool relax(const Context& c, Value* at, Value old, Accumulator x) {
  typedef typename Word<sizeof(Value)>::type word_t;
  word_t seen, expected, word;
  memcpy(&seen, &old, sizeof(Value));
  do {
    memcpy(&old, &seen, sizeof(Value));
    Value fresh = combine(old, x);
    if (!activate(c.parameters, fresh, old)) return false;
    memcpy(&word, &fresh, sizeof(Value));
    expected = seen;
    seen = atomicCAS((word_t*)at, expected, word);
  } while (seen != expected);
  return true;
}

// Set bit `u` of a bitmap; return whether it was 0.
__device__ __forceinline__ bool mark(u32* bits, u32 u) {
  u32 bit = 1u << (u & 31);
  return !(atomicOr(&bits[u >> 5], bit) & bit);
}

__device__ __forceinline__ void unmark(u32* bits, u32 u) { atomicAnd(&bits[u >> 5], ~(1u << (u & 31))); }

// What relaxes the targets of edges (push_lists.cuh): of the edges that activate a vertex u, one marks it in the bitmap
// `marked` and calls activated(u, x); x is the value that this edge gave to u, as far as it knows.
template <class Activate>
__device__ __forceinline__ auto relaxing(const Context& c, u32* marked, Activate& activated) {
  return [&c, marked, &activated](u32 u, Value seen, Accumulator y, u32) {
    if (relax(c, &c.values[u], seen, y) && mark(marked, u)) activated(u, combine(seen, y));
  };
}
