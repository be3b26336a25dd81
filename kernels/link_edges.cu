// Link the edges of the page's destinations that are not in the largest tree and have at least `least_edges`. To link an
// edge takes several reads, each of which depends on the one before, so a warp collects edges until it has one for each
// lane.
// Launch: one warp for each run of the page. Shared memory: 512 bytes per warp.
#include "packed_sources.cuh"
#include "trees.cuh"

// Whether the edges of destination `v` are wanted.
__device__ __forceinline__ bool is_wanted(const Context& c, const Page& p, u32 v, u32 largest) {
  return parent_of(c, v) != largest && in_offsets(c)[v + 1] - in_offsets(c)[v] >= p.least_edges;
}

// Whether a destination with edges in the run is wanted.
__device__ __forceinline__ bool any_wanted(const Context& c, const Page& p, const RunState& w, u32 largest) {
  i64 first = max((i64)w.rank - 1, p.first_rank), next = w.run + 1;
  i64 last = next * RUN < p.last_edge ? c.run_ranks[next] : p.last_rank;
  bool any = false;
  for (i64 rank = first + lane_id(); rank < last; rank += 32) any |= is_wanted(c, p, c.destinations[rank], largest);
  return __any_sync(FULL_MASK, any);
}

// The wanted edges that a warp has not linked yet.
struct Found {
  u32* sources;  // room for 64, in shared memory
  u32* destinations;
  int count;
};

// Collect an edge from each lane in which it is `wanted`. All lanes of the warp must call it.
__device__ __forceinline__ void collect_edge(const Context& c, Found& found, bool wanted, u32 source, u32 destination) {
  u32 lanes = __ballot_sync(FULL_MASK, wanted);
  if (wanted) {
    int at = found.count + __popc(lanes & lanes_below(lane_id()));
    found.sources[at] = source, found.destinations[at] = destination;
  }
  found.count += __popc(lanes);
  __syncwarp();
  if (found.count < 32) return;
  found.count -= 32;
  link(c, found.sources[found.count + lane_id()], found.destinations[found.count + lane_id()]);
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(THREADS) link_edges(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  __shared__ u32 room[THREADS / 32][2][64];
  i64 run = p.first_edge / RUN + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = run * RUN;
  if (from >= p.last_edge) return;
  RunState w = run_state(c, p, run);
  u32 largest = *c.largest;
  if (!any_wanted(c, p, w, largest)) return;
  PackedSources packed = packed_sources(p, run);
  Found found{room[threadIdx.x >> 5][0], room[threadIdx.x >> 5][1], 0};
  for (int k = 0; k < RUN / STEP; k++) {
    i64 base = from + k * STEP, e = base + 4 * lane_id();
    if (base + STEP <= w.begin || base >= w.end) continue;
    SegmentStarts s = find_starts<false>(c, w, base);
    u32 rank = w.rank + s.before - 1, wanted = 0, sources[4], v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      rank += s.mine >> j & 1;
      if (e + j < w.begin || e + j >= w.end) continue;
      v[j] = c.destinations[rank];
      wanted |= is_wanted(c, p, v[j], largest) << j;
    }
    w.seen = s.all;
    bool any = __any_sync(FULL_MASK, wanted);
    if (p.records) {
      unpack_sources(packed, k, s, sources, c.n - 1);
    } else if (any && e < w.end) {  // beyond it, mapped memory may end
      uint4 four = __ldcs((const uint4*)(p.sources + (e - p.base_edge)));
      sources[0] = four.x, sources[1] = four.y, sources[2] = four.z, sources[3] = four.w;
    }
    if (!any) continue;
#pragma unroll
    for (int j = 0; j < 4; j++) collect_edge(c, found, wanted >> j & 1, sources[j], v[j]);
  }
  if (lane_id() < found.count) link(c, found.sources[lane_id()], found.destinations[lane_id()]);
}
