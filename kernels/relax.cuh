// Add a contribution to the value of a vertex that other threads add to, too. For relaxations, whose values are numbers
// of 4 or 8 bytes, and whose `apply` is their sum.
#pragma once

#include "garaph_generated.cuh"

// Add `x` to the value at `at`; return whether that changed it.
__device__ __forceinline__ bool relax(const Context& c, Value* at, Accumulator x) {
  typedef typename Word<sizeof(Value)>::type word_t;
  word_t seen = *(volatile word_t*)at, expected;
  do {
    Value old, fresh;
    memcpy(&old, &seen, sizeof(Value));
    fresh = combine(old, x);
    if (!activate(c.parameters, fresh, old)) return false;
    word_t word;
    memcpy(&word, &fresh, sizeof(Value));
    expected = seen;
    seen = atomicCAS((word_t*)at, expected, word);
  } while (seen != expected);
  return true;
}
