// Numbers, and values of any 4-byte-aligned type handed from lane to lane.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

constexpr u32 EVERYONE = 0xffffffffu;
constexpr int RUN = 1024;       // edges a warp takes; garaph_py/executor/gpu/ranks.py has the same
constexpr int MANY_RUNS = 32;  // more than so many a hub's edges go on through; as there

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }
__device__ __forceinline__ u32 lanes_below(int lane) { return (1u << lane) - 1; }

// `x` with each of its words exchanged, as lanes can only hand on words.
template <class T, class Exchange>
__device__ __forceinline__ T by_words(T x, Exchange exchange) {
  u32 words[sizeof(T) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = exchange(words[k]);
  memcpy(&x, words, sizeof(T));
  return x;
}

// `x` of the lane at `source`.
template <class T>
__device__ __forceinline__ T from_lane(T x, int source) {
  return by_words(x, [=](u32 word) { return __shfl_sync(EVERYONE, word, source); });
}

// `x` of the lane `distance` below, or the lane's own where there is none.
template <class T>
__device__ __forceinline__ T from_below(T x, int distance) {
  return by_words(x, [=](u32 word) { return __shfl_up_sync(EVERYONE, word, distance); });
}

// The sum of all lanes' `x`, in every lane, in an order that depends on the lane alone.
template <class T, class Sum>
__device__ __forceinline__ T over_lanes(T x, Sum sum) {
  for (int s = 16; s; s >>= 1) x = sum(x, from_lane(x, (lane_id() + s) & 31));
  return x;
}

// What other blocks have written to `at`: past the L1 cache, which may hold what was there before.
template <class T>
__device__ __forceinline__ T read_fresh(const T* at) {
  u32 words[sizeof(T) / 4];
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = __ldcg((const u32*)at + k);
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
