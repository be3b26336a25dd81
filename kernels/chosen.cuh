// For kernels that the host launches before it is known what their superstep does (choose.cu).
#pragma once

#include "garaph_generated.cuh"

// Whether a kernel has nothing to do: it was launched ahead, and `choose` has chosen another one.
__device__ __forceinline__ bool is_idle(const Page& p) { return p.wanted && !(p.tally->chosen & p.wanted); }

// The context, with the two arrays of values where the supersteps before have left them.
__device__ __forceinline__ Context current(const Task& t) {
  Context c = t.context;
  if (t.page.wanted && t.page.tally->swapped) c.values = t.context.next_values, c.next_values = t.context.values;
  return c;
}

__device__ __forceinline__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
