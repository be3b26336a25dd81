// Add a contribution to the value of a vertex that other threads add to, too. For relaxations, whose values are numbers
// of 4 or 8 bytes, or rows of these, and whose `apply` is their sum.
#pragma once

#include "activated.cuh"
#if HAS_ROWS
#include "rows.cuh"
#endif

// The number at `at`, which other threads may be writing.
template <class T>
__device__ __forceinline__ T read_value(const T* at) {
  typename Word<sizeof(T)>::type word = *(const volatile typename Word<sizeof(T)>::type*)at;
  return as<T>(word);
}

// Replace the number at `at`, which was `old` a moment ago, by add(old), if changes(fresh, old) says that this changes
// it; return whether it did.
template <class T, class Add, class Changes>
__device__ __forceinline__ bool relax(T* at, T old, Add add, Changes changes) {
  typedef typename Word<sizeof(T)>::type word_t;
  word_t seen = as<word_t>(old), expected;
  do {
    old = as<T>(seen);
    T fresh = add(old);
    if (!changes(fresh, old)) return false;
    expected = seen;
    seen = atomicCAS((word_t*)at, expected, as<word_t>(fresh));
  } while (seen != expected);
  return true;
}

#if HAS_ROWS

// What relaxes the targets of edges (push_lists.cuh), column by column: no column of a row depends on another. All lanes
// of a warp call it, and those of a group for one edge. Of the edges that change a column of vertex u, one marks u in
// the bitmap `marked` and calls activated(u, x); x is the row of u.
template <class Activate>
__device__ __forceinline__ auto relaxing(const Context& c, u32* marked, Activate& activated) {
  ColumnParameters own = parameters_in_column(c.parameters, column_of_lane());
  return [own, marked, &c, &activated](bool wanted, u32 u, ColumnValue seen, ColumnAccumulator y) {
    auto add = [=](ColumnValue old) { return combine_column(old, y); };
    auto changes = [&](ColumnValue fresh, ColumnValue old) { return activate_column(own, fresh, old); };
    bool changed = wanted && has_column() && relax(&column_at(c.values, u), seen, add, changes);
    u32 of_group = __ballot_sync(FULL_MASK, changed) & FULL_MASK >> 32 - ROW_LANES << first_of_group();
    if (of_group && lane_id() == __ffs(of_group) - 1 && mark(marked, u)) activated(u, c.values[u]);
  };
}

#else

// Add `x` to the value at `at`, which was `old` a moment ago; return whether that changed it.
__device__ __forceinline__ bool relax(const Context& c, Value* at, Value old, Accumulator x) {
  auto changes = [&](Value fresh, Value was) { return activate(c.parameters, fresh, was); };
  return relax(at, old, [=](Value was) { return combine(was, x); }, changes);
}

// What relaxes the targets of edges (push_lists.cuh): of the edges that activate a vertex u, one marks it in the bitmap
// `marked` and calls activated(u, x); x is the value that this edge gave to u, as far as it knows.
template <class Activate>
__device__ __forceinline__ auto relaxing(const Context& c, u32* marked, Activate& activated) {
  return [&c, marked, &activated](u32 u, Value seen, Accumulator y, u32) {
    if (relax(c, &c.values[u], seen, y) && mark(marked, u)) activated(u, combine(seen, y));
  };
}

#endif
