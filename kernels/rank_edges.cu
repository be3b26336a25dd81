// From the number of destinations before every 32nd vertex: destinations[rank] = the vertex with this rank, and
// run_ranks[run] = the number of destinations that begin before the run. Either array may be null.
// Launch: one thread for each vertex. Shared memory: none.
#include "offsets.cuh"

extern "C" __global__ void rank_edges(
    const u32* begins, i64 n, i64 wraps, const u32* word_ranks, u32* destinations, u32* run_ranks) {
  i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  bool in_bounds = v < n;
  Offsets offsets{begins, n, wraps};
  i64 begin = in_bounds ? offsets[v] : 0, end = in_bounds ? offsets[v + 1] : 0;
  u32 with_edges = __ballot_sync(FULL_MASK, begin < end);
  if (begin == end) return;
  u32 rank = word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane_id()));
  if (destinations) destinations[rank] = v;
  if (!run_ranks) return;
  // The next destination begins at `end`. So this one is the last that begins before these runs; run 0 keeps its zero.
  i64 runs = (offsets[n] + RUN - 1) / RUN;
  for (i64 run = begin / RUN + 1; run < runs && run * RUN <= end; run++) run_ranks[run] = rank + 1;
}
