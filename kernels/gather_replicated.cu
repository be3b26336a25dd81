// Gather and apply with replicated accumulators in shared memory (Garaph sections 3.1 and 3.2), one block for each work
// item: a shard, or a piece of a large one.
//
// 1. Initialize R copies of an accumulator for each destination, in shared memory.
// 2. Gather: consecutive threads read consecutive edges. Thread tid adds atomically to copy tid % R of the destination,
//    at index (rank - first_rank) * R + tid % R.
// 3. Aggregate the copies, pair by pair, with strides R/2, R/4, ..., 1.
// 4. Apply: consecutive threads update consecutive vertices. If a shard has several pieces, their blocks add their sums
//    in global memory, and the block that ends last applies.
//
// To find the destination of an edge, a warp holds the words of `starts` of a run, and counts the bits up to the edge. Or
// `shard_offsets` has its rank in the shard, as in the paper (section 2.1).
// Launch: blocks of REPLICATED_THREADS.
// Shared memory: item.ranks * R accumulators, and what add_to_tally needs.
#include "edges.cuh"
#include "vertices.cuh"

constexpr int UNROLL = 4;  // edges of a thread whose loads are in flight together

// Clear the sums of shards in several pieces. Launch: one thread for each destination of the page.
extern "C" __global__ void initialize_sums(const __grid_constant__ Task t) {
  const Context& c = t.context;
  i64 rank = t.page.first_rank + blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (rank < t.page.last_rank) c.sums[rank] = identity(c.parameters);
}

extern "C" __global__ void __launch_bounds__(REPLICATED_THREADS) gather_replicated(const __grid_constant__ Task t) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ bool applies;
  Accumulator* local = (Accumulator*)memory;
  const Context& c = t.context;
  const Page& p = t.page;
  const Item item = p.items[blockIdx.x];
  const int R = item.replication, copies = item.ranks * R;
  i64 clock = clock64();

  for (int k = threadIdx.x; k < copies; k += blockDim.x) local[k] = identity(c.parameters);
  if (threadIdx.x == 0) applies = item.pieces == 1;
  __syncthreads();

  const int lane = lane_id(), copy = threadIdx.x & (R - 1);
  const i64 last_run = (item.last_edge - 1) / RUN;
  for (i64 run = item.first_edge / RUN + (threadIdx.x >> 5); run <= last_run; run += blockDim.x >> 5) {
    const i64 base = run * RUN;
    u32 begun = 0, mine = 0;
    if (!p.shard_offsets) {
      begun = c.run_ranks[run] - item.first_rank;  // wraps below zero if the run begins before the shard
      mine = c.starts[base / 32 + lane];           // the run's bits, one word in each lane
    }
#pragma unroll
    for (int k = 0; k < RUN / 32; k += UNROLL) {
      u32 rank[UNROLL];
      Accumulator x[UNROLL];
      bool in_bounds[UNROLL];
#pragma unroll
      for (int j = 0; j < UNROLL; j++) {
        i64 e = base + 32 * (k + j) + lane;
        in_bounds[j] = e >= item.first_edge && e < item.last_edge;
        if (p.shard_offsets) {
          rank[j] = in_bounds[j] ? __ldcs(p.shard_offsets + (e - p.base_edge)) : 0;
        } else {
          u32 word = warp_shfl(mine, k + j);
          rank[j] = begun + __popc(word & (lanes_below(lane) | 1u << lane)) - 1;
          begun += __popc(word);
        }
        u32 at = item.first_rank + rank[j];
        if (in_bounds[j]) x[j] = contribution(c, __ldcs(p.sources + (e - p.base_edge)), raw_edge(p, e), at);
      }
#pragma unroll
      for (int j = 0; j < UNROLL; j++)
        if (in_bounds[j]) atomic_sum(&local[rank[j] * R + copy], x[j]);
    }
  }
  __syncthreads();

  for (int stride = R / 2; stride; stride /= 2) {
    for (int k = threadIdx.x; k < item.ranks * stride; k += blockDim.x) {
      int at = k / stride * R + k % stride;
      local[at] = combine(local[at], local[at + stride]);
    }
    __syncthreads();
  }

  if (item.pieces > 1) {
    for (int k = threadIdx.x; k < item.ranks; k += blockDim.x) atomic_sum(&c.sums[item.first_rank + k], local[k * R]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      applies = atomicAdd(&p.tickets[item.ticket], 1) == item.pieces - 1;
      if (applies) p.tickets[item.ticket] = 0;
    }
    __syncthreads();
    __threadfence();
    if (applies)
      for (int k = threadIdx.x; k < item.ranks; k += blockDim.x) local[k * R] = ld_cg(&c.sums[item.first_rank + k]);
    __syncthreads();
  }

  u64 active = 0, active_edges = 0;
  Partial part = no_total();
  if (applies) {
    i64 first = item.first_vertex & ~31ll;
    for (i64 v = first + threadIdx.x; v < (item.last_vertex + 31 & ~31ll); v += blockDim.x) {
      bool in_bounds = v >= item.first_vertex && v < item.last_vertex;
      bool has_edges = v < c.n && in_offsets(c)[v] < in_offsets(c)[v + 1];
      u32 with_edges = __ballot_sync(FULL_MASK, has_edges);
      Update done{false, 0, no_total()};
      if (in_bounds) {
        u32 rank = c.word_ranks[v >> 5] + __popc(with_edges & lanes_below(lane)) - item.first_rank;
        done = update_vertex(c, v, has_edges ? local[rank * R] : identity(c.parameters));
      }
      u32 word = __ballot_sync(FULL_MASK, done.active);
      if (lane == 0 && word) atomicOr(&c.next_frontier[v >> 5], word);  // shards may share the word
      active += done.active;
      if (done.active) active_edges += done.out_edges;
      if constexpr (HAS_TOTAL) part = add_total(part, done.part);
    }
  }
  add_to_tally(p, active, active_edges, part, blockIdx.x);
  if (p.clocks && threadIdx.x == 0) p.clocks[blockIdx.x] = clock64() - clock;
}
