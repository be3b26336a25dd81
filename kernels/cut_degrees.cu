// Unified degree cut (EtaGraph section III): the active set `queue` becomes the virtual active sets. A vertex has a
// shadow vertex for every `degree_limit` edges, in `whole_shadows`, and one for the rest of its edges, if there are any,
// in `part_shadows`.
// Launch: any number of threads, after list_frontier. Shared memory: none.
#include "lists.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) cut_degrees(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  u32 queued = p.tally->queued, limit = c.degree_limit;
  u64 threads = (u64)gridDim.x * blockDim.x;
  for (u64 first = (blockIdx.x * (u64)blockDim.x + threadIdx.x) & ~31ull; first < queued; first += threads) {
    u32 k = first + lane_id();
    i64 begin = 0, degree = 0;
    if (first + lane_id() < queued) {
      u32 v = c.queue[k];
      begin = out_offsets(c)[v], degree = out_offsets(c)[v + 1] - begin;
    }
    u64 whole = degree / limit, before = whole;
    u32 part = degree % limit, parts = __ballot_sync(FULL_MASK, part);
#pragma unroll
    for (int s = 1; s < 32; s <<= 1) {
      u64 other = __shfl_up_sync(FULL_MASK, before, s);
      if (lane_id() >= s) before += other;
    }
    u64 all = __shfl_sync(FULL_MASK, before, 31), place = 0, part_place = 0;
    if (lane_id() == 0) {
      place = atomicAdd(&p.tally->whole_shadows, all);
      part_place = atomicAdd(&p.tally->part_shadows, (u64)__popc(parts));
    }
    place = __shfl_sync(FULL_MASK, place, 0), part_place = __shfl_sync(FULL_MASK, part_place, 0);
    part_place += __popc(parts & lanes_below(lane_id()));
    if (part) c.part_shadows[part_place] = Shadow{begin + (i64)whole * limit, k, part};
    for (u64 i = lane_id(); i - lane_id() < all; i += 32) {  // the warp writes the shadows of all its lanes
      int lane = 0;
#pragma unroll
      for (int s = 16; s; s >>= 1)
        if (__shfl_sync(FULL_MASK, before, lane + s - 1) <= i) lane += s;
      u64 number = i - __shfl_sync(FULL_MASK, before - whole, lane);
      i64 start = __shfl_sync(FULL_MASK, begin, lane) + (i64)number * limit;
      if (i < all) c.whole_shadows[place + i] = Shadow{start, (u32)first + lane, limit};
    }
  }
}
