// Pack sources. measure_runs writes each run's record: the base, the width of each group, and, in the field first_word,
// the number of words. The host replaces these numbers by their prefix sums. pack_runs then writes the words. `sources`
// begins with edge `base_edge`, which is before `first_edge`. All runs are whole, except the graph's last.
// Launch: one warp for each run. Shared memory: none.
#include "packed.cuh"

// The number packed for edge `e`: its source, minus the source of the previous edge if that has the same destination.
__device__ __forceinline__ u32 packed_number(const Context& c, const Page& p, i64 e, u32 starts) {
  if (e >= p.last_edge) return 0;
  const u32* at = p.sources + (e - p.base_edge);
  return starts >> lane_id() & 1 ? *at : *at - at[-1];
}

extern "C" __global__ void __launch_bounds__(THREADS) measure_runs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = p.first_edge + k * RUN;
  if (from >= p.last_edge) return;
  int lane = lane_id(), width = 0;
  u32 starts = c.starts[from / 32 + lane];  // one word in each lane
#pragma unroll 4
  for (int g = 0; g < RUN / GROUP; g++) {
    u32 number = packed_number(c, p, from + 32 * g + lane, warp_shfl(starts, g));
    u32 bits = warp_reduce(number, [](u32 a, u32 b) { return a | b; });
    if (lane == g) width = 32 - __clz(bits);
  }
  Record* record = (Record*)p.records + k;
  record->widths[lane] = width;
  int words = warp_reduce(width, [](int a, int b) { return a + b; });
  if (lane == 0) {
    record->first_word = words;
    record->base = starts & 1 ? 0 : p.sources[from - p.base_edge - 1];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) pack_runs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = p.first_edge + k * RUN;
  if (from >= p.last_edge) return;
  int lane = lane_id();
  u32 starts = c.starts[from / 32 + lane];
  Groups groups = groups_of(p.records + k, p.words, p.first_word);
  u32* words = (u32*)groups.words;
  for (int g = 0; g < RUN / GROUP; g++) {
    u32 number = packed_number(c, p, from + 32 * g + lane, warp_shfl(starts, g)), word = 0;
    int width = warp_shfl(groups.width, g), before = warp_shfl(groups.before, g);
    if (width == 0) continue;
    int first = 32 * lane / width;  // the first number with bits in the lane's word
    for (int j = 0; j < 32 / width + 2; j++) {
      u32 other = warp_shfl(number, first + j & 31);
      int bit = (first + j) * width - 32 * lane;
      if (first + j < 32 && bit < 32) word |= bit >= 0 ? other << bit : other >> -bit;
    }
    if (lane < width) words[before + lane] = word;
  }
}
