// What each partition has to push: active vertices that have edges, their edges, the requests for their lists and the
// sectors of these, the pieces of long lists and, if deltas are pushed, the sum of their sizes (HyTGraph sections V-A
// and VI-A). If deltas are applied in turn, vertices without edges leave the frontier.
// Launch: one thread for each word of the frontier. Shared memory: none.
#include "partitions.cuh"
#include "pushed.cuh"

constexpr int LINE = 128, SECTOR = 32;  // bytes of the largest and the smallest request for host memory

// The units of `size` bytes that hold the edges [begin, end) of an array with `width` bytes for each.
__device__ __forceinline__ u32 units_of(const Context& c, i64 begin, i64 end, int width, int size) {
  return ((end + c.lead) * width - 1) / size - (begin + c.lead) * width / size + 1;
}

__device__ __forceinline__ u32 units_of_list(const Context& c, i64 begin, i64 end, int size) {
  u32 units = units_of(c, begin, end, 4, size);
  if constexpr (READS_EDGES) units += units_of(c, begin, end, sizeof(Edge), size);
  return units;
}

// How much the targets of `v` change by what it pushes along `edges` edges without a value.
__device__ __forceinline__ float size_of_delta(const Context& c, u32 v, u64 edges) {
#if PUSHES_DELTAS && ADDS_NUMBERS
  return fabsf((float)pushed_along(c, pushed_by(c, v, v), Edge{}, v)) * edges;
#else
  return edges;
#endif
}

// If deltas are applied in turn: those of the frontier that have no edges leave it.
__device__ __forceinline__ void end_idle(const Context& c, i64 v, bool is_active) {
  u32 word = c.frontier[v >> 5], active = __ballot_sync(FULL_MASK, is_active);
  if ((word & ~active) >> lane_id() & 1) c.next_values[v] = c.values[v];
  __syncwarp();
  if (lane_id() == 0) c.frontier[v >> 5] = active;
}

struct Counts {
  u32 active, pieces;
  u64 edges, requests, sectors;
  float change;
};

__device__ __forceinline__ void add_to_partition(Partition& to, const Counts& mine) {
  u32 active = sum_over_warp(mine.active), pieces = sum_over_warp(mine.pieces);
  u64 edges = sum_over_warp(mine.edges), requests = sum_over_warp(mine.requests);
  u64 sectors = sum_over_warp(mine.sectors);
  float change = warp_reduce(mine.change, [](float x, float y) { return x + y; });
  if (lane_id() != 0 || !active) return;
  atomicAdd(&to.active, active), atomicAdd(&to.pieces, pieces), atomicAdd(&to.active_edges, edges);
  atomicAdd(&to.requests, requests), atomicAdd(&to.sectors, sectors), atomicAdd(&to.change, change);
}

extern "C" __global__ void __launch_bounds__(THREADS) count_partitions(const __grid_constant__ Task t) {
  const Context& c = t.context;
  int at = 0;
  Counts mine{};
  visit_active(c, [](int) { return true; }, [&](int partition, i64 v, i64 begin, i64 end, bool is_active) {
    if (partition != at) add_to_partition(c.partition_table[at], mine), mine = Counts{}, at = partition;
    if (c.in_turn) end_idle(c, v, is_active);
    if (!is_active) return;
    mine.active++, mine.edges += end - begin, mine.change += size_of_delta(c, v, end - begin);
    mine.requests += units_of_list(c, begin, end, LINE), mine.sectors += units_of_list(c, begin, end, SECTOR);
    if (c.splits && end - begin >= PIECE) mine.pieces += pieces_of(c, begin, end);
  });
  add_to_partition(c.partition_table[at], mine);
}
