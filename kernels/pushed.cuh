// What a vertex of the queue pushes along its edges: its value or its row, in a relaxation; its value and the one that the
// sums of its targets include, in a program that pushes deltas.
#pragma once

#include "edges.cuh"

#if PUSHES_DELTAS

#include "activated.cuh"

struct Pushed {
  Value fresh, old;
};

struct Seen {};  // sums are added to unseen

__device__ __forceinline__ Pushed pushed_by(const Context& c, u32, u32 v) { return {c.values[v], c.next_values[v]}; }

__device__ __forceinline__ Seen look_at(const Context&, u32) { return {}; }

// What an edge of vertex `v` with this value adds to its target: all that it contributes, if the sums are empty.
__device__ __forceinline__ Accumulator pushed_along(const Context& c, const Pushed& x, Edge edge, u32 v) {
  if (c.pushes_all) return gather(c.parameters, x.fresh, edge, Value{}, v);
  return delta(c.parameters, x.fresh, x.old, edge, v);
}

// Add `y` to the sum of `u`, and put `u` into `notified`; return whether it was not there.
__device__ __forceinline__ bool add_delta(const Context& c, u32 u, Accumulator y) {
  bool is_notified = __ldcg(&c.notified[u >> 5]) >> (u & 31) & 1;
  atomic_sum(&c.kept_sums[u], y);
  return !is_notified && mark(c.notified, u);
}

#elif HAS_ROWS

#include "relax.cuh"

typedef u32 Pushed;  // where the row is among `next_values`

// What vertex `v`, at `place` in the queue, pushes: see below.
__device__ __forceinline__ Pushed pushed_by(const Context& c, u32 place, u32 v) {
  return c.next_values != c.values && !c.copies_by_vertex ? place : v;
}

#else

#include "relax.cuh"

typedef Value Pushed;
typedef Value Seen;

// What vertex `v`, at `place` in the queue, pushes. New values are written in place; a synchronous push has copies of
// the old ones.
__device__ __forceinline__ Pushed pushed_by(const Context& c, u32 place, u32 v) {
  return c.next_values != c.values ? c.next_values[c.copies_by_vertex ? v : place] : read_value(&c.values[v]);
}

// The value of a target before an edge adds to it.
__device__ __forceinline__ Seen look_at(const Context& c, u32 u) { return read_value(&c.values[u]); }

// What an edge of vertex `v` with this value adds to its target.
__device__ __forceinline__ Accumulator pushed_along(const Context& c, Pushed x, Edge edge, u32 v) {
  return gather(c.parameters, x, edge, Value{}, v);
}

#endif

#if HAS_ROWS

// Rows of a group whose loads are in flight at a time.
constexpr int PUSHED_AT_ONCE = ROW_LANES < 32 / sizeof(ColumnValue) ? ROW_LANES : 32 / sizeof(ColumnValue);

// Push along COUNT edges of each lane: for each j whose bit is in `wanted`, along one from v[j] to u[j]. A group of lanes
// takes the edges of its own lanes one by one, and each lane pushes one column: it calls push(whether there is an edge,
// u, seen, y), where `y` is what the edge adds to the column of u, of which `seen` was read a moment ago.
template <int COUNT, class Push>
__device__ __forceinline__ void push_each(const Context& c, u32 wanted, const u32* u, const Edge* edges, const u32* v,
                                          const Pushed* x, Push push) {
  ColumnParameters own = parameters_in_column(c.parameters, column_of_lane());
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    u32 lanes = __ballot_sync(FULL_MASK, wanted >> j & 1);
    if (!lanes) continue;
#pragma unroll 1
    for (int q = 0; q < ROW_LANES; q += PUSHED_AT_ONCE) {
      u32 to[PUSHED_AT_ONCE], from[PUSHED_AT_ONCE];
      Edge by[PUSHED_AT_ONCE];
      ColumnValue pushed[PUSHED_AT_ONCE], seen[PUSHED_AT_ONCE];
      u32 theirs = lanes >> first_of_group() + q;
#pragma unroll
      for (int k = 0; k < PUSHED_AT_ONCE; k++) {
        int holder = first_of_group() + q + k;
        to[k] = warp_shfl(u[j], holder), from[k] = warp_shfl(v[j], holder);
        u32 at = warp_shfl(x[j], holder);
        by[k] = Edge{};
        if constexpr (READS_EDGES) by[k] = warp_shfl(edges[j], holder);
        pushed[k] = seen[k] = ColumnValue{};
        if (theirs >> k & 1) pushed[k] = column_at(c.next_values, at), seen[k] = read_value(&column_at(c.values, to[k]));
      }
#pragma unroll
      for (int k = 0; k < PUSHED_AT_ONCE; k++)
        push(theirs >> k & 1, to[k], seen[k], gather_column(own, pushed[k], by[k], ColumnValue{}, from[k]));
    }
  }
}

#else

// Push along COUNT edges of each lane: for each j whose bit is in `wanted`, along one from v[j], which pushes x[j], to
// u[j]. It calls push(u, seen, y, v): `y` is what the edge adds to u, of which `seen` was read a moment ago.
template <int COUNT, class Push>
__device__ __forceinline__ void push_each(const Context& c, u32 wanted, const u32* u, const Edge* edges, const u32* v,
                                          const Pushed* x, Push push) {
  Seen seen[COUNT];
#pragma unroll
  for (int j = 0; j < COUNT; j++)
    if (wanted >> j & 1) seen[j] = look_at(c, u[j]);
#pragma unroll
  for (int j = 0; j < COUNT; j++)
    if (wanted >> j & 1) push(u[j], seen[j], pushed_along(c, x[j], edges[j], v[j]), v[j]);
}

#endif
