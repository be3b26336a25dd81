// Ends a pull that the host has launched ahead of others: its total becomes the one that the next pull reads, and the
// time is noted. If `blocks` is 0, there is no pull before it, and only the time is noted.
//   tally   the counts of the pull
// Launch: one thread. Shared memory: none.
#include "chosen.cuh"

extern "C" __global__ void end_pull(const __grid_constant__ Task t) {
  t.page.tally->since = nanoseconds();
  if constexpr (HAS_TOTAL)  // for all other kernels, the total is constant
    if (t.page.blocks) *const_cast<Total*>(t.context.total) = as_total(t.page.tally->partial);
}
