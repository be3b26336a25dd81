// Ends one of several pulls that the host has launched together: makes the pull's total the one that the next pull
// reads, and notes the time. If `blocks` is 0, no pull has run yet, and the kernel only notes when the first one begins.
//   tally   the counts of the pull
// Launch: one thread. Shared memory: none.
#include "chosen.cuh"

extern "C" __global__ void end_pull(const __grid_constant__ Task t) {
  t.page.tally->since = nanoseconds();
  if constexpr (HAS_TOTAL)  // for all other kernels, the total is constant
    if (t.page.blocks) *const_cast<Total*>(t.context.total) = as_total(t.page.tally->partial);
}
