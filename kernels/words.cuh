// Numbers, and values of any 4-byte-aligned type handed from lane to lane.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

constexpr u32 EVERYONE = 0xffffffffu;
constexpr int RUN = 1024;       // edges a warp takes; garaph_py/gpu/ranks.py has the same
constexpr int MANY_RUNS = 32;  // more than so many a hub's edges go on through; as there

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }
__device__ __forceinline__ u32 lanes_below(int lane) { return (1u << lane) - 1; }

// `x` of the lane at `source`, word by word.
template <class T>
__device__ __forceinline__ T from_lane(T x, int source) {
  u32 words[sizeof(T) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = __shfl_sync(EVERYONE, words[k], source);
  memcpy(&x, words, sizeof(T));
  return x;
}

// `x` of the lane `distance` below, or the lane's own where there is none.
template <class T>
__device__ __forceinline__ T from_below(T x, int distance) {
  u32 words[sizeof(T) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = __shfl_up_sync(EVERYONE, words[k], distance);
  memcpy(&x, words, sizeof(T));
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
