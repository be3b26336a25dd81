// Sources packed: measure_runs leaves each run's base and its groups' widths, and in place of its first word how many it has;
// the host adds these up; pack_runs writes the words. `sources` begins with edge `base_edge`, at least one before
// `first_edge`, and the edges are whole runs but for the graph's last.
// Launch: a warp a run, blocks of 256. Shared memory: none.

// The number packed for edge `e`: its source, less that of the edge before where this has the same destination.
__device__ __forceinline__ u32 packed_number(const Context& c, const Page& p, i64 e, u32 starts) {
  if (e >= p.last_edge) return 0;
  const u32* at = p.sources + (e - p.base_edge);
  return starts >> lane_id() & 1 ? *at : *at - at[-1];
}

extern "C" __global__ void __launch_bounds__(256) measure_runs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = p.first_edge + k * RUN;
  if (from >= p.last_edge) return;
  int lane = lane_id(), width = 0;
  u32 starts = c.starts[from / 32 + lane];  // a word a lane
#pragma unroll 4
  for (int g = 0; g < RUN / 32; g++) {
    u32 number = packed_number(c, p, from + 32 * g + lane, from_lane(starts, g));
    u32 bits = over_lanes(number, [](u32 a, u32 b) { return a | b; });
    if (lane == g) width = 32 - __clz(bits);
  }
  Record* record = (Record*)p.records + k;
  record->widths[lane] = width;
  int words = over_lanes(width, [](int a, int b) { return a + b; });
  if (lane == 0) {
    record->first_word = words;
    record->base = starts & 1 ? 0 : p.sources[from - p.base_edge - 1];
  }
}

extern "C" __global__ void __launch_bounds__(256) pack_runs(const __grid_constant__ Task t) {
  const Context& c = t.context;
  const Page& p = t.page;
  i64 k = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32, from = p.first_edge + k * RUN;
  if (from >= p.last_edge) return;
  int lane = lane_id();
  u32 starts = c.starts[from / 32 + lane];
  Groups groups = groups_of(p.records + k, p.words, p.first_word);
  u32* words = (u32*)groups.words;
  for (int g = 0; g < RUN / 32; g++) {
    u32 number = packed_number(c, p, from + 32 * g + lane, from_lane(starts, g)), word = 0;
    int width = from_lane(groups.width, g), before = from_lane(groups.before, g);
    if (width == 0) continue;
    int first = 32 * lane / width;  // the first number with bits in the lane's word
    for (int j = 0; j < 32 / width + 2; j++) {
      u32 other = from_lane(number, first + j & 31);
      int bit = (first + j) * width - 32 * lane;
      if (first + j < 32 && bit < 32) word |= bit >= 0 ? other << bit : other >> -bit;
    }
    if (lane < width) words[before + lane] = word;
  }
}
