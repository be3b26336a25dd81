// The order of priority in which push_few takes active vertices: delta-stepping (Meyer and Sanders, J. Algorithms 2003)
// with a bucket that moves on with every superstep. Once a superstep has had many edges to follow, only those vertices
// push whose priority is at most `step` above the least one; the others wait in the queue. Few edges take as long as
// none, so the step doubles while a superstep follows few and leaves vertices waiting, and halves while it follows many.
#pragma once

#include "garaph_generated.cuh"

constexpr bool IS_REAL = (Value)0.5 != (Value)0;

// Lower the number at `at`, which is not NaN, to `x`, with one atomic operation: the bits of positive floats are ordered
// as signed integers are, those of negative ones against the order of unsigned integers.
template <class T>
__device__ __forceinline__ void lower(T* at, T x) { atomicMin(at, x); }
__device__ __forceinline__ void lower(float* at, float x) {
  int bits = __float_as_int(x);
  if (bits >= 0) atomicMin((int*)at, bits); else atomicMax((u32*)at, (u32)bits);
}
__device__ __forceinline__ void lower(double* at, double x) {
  i64 bits = __double_as_longlong(x);
  if (bits >= 0) atomicMin((i64*)at, bits); else atomicMax((u64*)at, (u64)bits);
}

// How the supersteps of a launch are ordered; all threads have the same.
struct Order {
  bool watches;  // there have been many edges: priorities count from then on
  Value step;    // 0 until the least priority is known
  Value last;    // the greatest priority that is due
};

// Whether a vertex with this priority has to wait. NaN never does.
__device__ __forceinline__ bool waits(const Order& order, Value priority) {
  return order.watches && order.step != (Value)0 && priority > order.last;
}

// The order of the next superstep.
//   followed  edges that the last one followed
//   waiting   out-edges of the vertices that it left waiting
//   queued    out-edges of all vertices that are now in the queue
//   least     if it watches: the least priority that these had when they became active. It may have become smaller since,
//             so the most urgent vertices are always due
//   many      edges that are many
__device__ __forceinline__ void order_next(Order& order, u64 followed, u64 waiting, u64 queued, Value least, u64 many) {
  Value size = least < 0 ? -least : least;
  // A real step does not become so small that it takes more than twenty supersteps to grow again.
  Value smallest = !IS_REAL ? (Value)1 : size > (Value)1e-24 ? size / (1 << 20) : (Value)1e-30;
  if (!order.watches) {
    order.watches = queued > many;
    return;
  }
  if (order.step == (Value)0) {
    order.step = size / 64;
  } else if (followed > many) {
    order.step /= 2;
  } else if (followed * 4 < many && waiting) {
    order.step = order.step > highest() / 2 ? highest() : order.step * 2;
  }
  if (order.step < smallest) order.step = smallest;
  order.last = least > highest() - order.step ? highest() : least + order.step;
}
