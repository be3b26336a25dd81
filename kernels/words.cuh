// Integer types, and exchanges between the lanes of a warp for values of any type whose size is a multiple of 4 bytes.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

constexpr u32 FULL_MASK = 0xffffffffu;  // all 32 lanes take part

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }
__device__ __forceinline__ u32 lanes_below(int lane) { return (1u << lane) - 1; }

// The bits of `x` as a `To` of the same size.
template <class To, class From>
__device__ __forceinline__ To as(const From& x) {
  static_assert(sizeof(To) == sizeof(From), "size");
  To y;
  memcpy(&y, &x, sizeof(To));
  return y;
}

// Exchange each 4-byte word of `x`: a shuffle instruction moves one word.
template <class T, class Exchange>
__device__ __forceinline__ T by_words(T x, Exchange exchange) {
  u32 words[sizeof(T) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = exchange(words[k]);
  memcpy(&x, words, sizeof(T));
  return x;
}

// The value of `x` in lane `source`.
template <class T>
__device__ __forceinline__ T warp_shfl(T x, int source) {
  return by_words(x, [=](u32 word) { return __shfl_sync(FULL_MASK, word, source); });
}

// The value of `x` in the lane `distance` below, or this lane's own value if there is no such lane.
template <class T>
__device__ __forceinline__ T warp_shfl_up(T x, int distance) {
  return by_words(x, [=](u32 word) { return __shfl_up_sync(FULL_MASK, word, distance); });
}

// The sum of all lanes' `x`, in every lane. The order of additions depends only on the lane, so the result has the same
// bits in every run.
template <class T, class Sum>
__device__ __forceinline__ T warp_reduce(T x, Sum sum) {
  for (int s = 16; s; s >>= 1) x = sum(x, warp_shfl(x, (lane_id() + s) & 31));
  return x;
}

// The sum of all lanes' `x`, in every lane. Before compute capability 8.0 there is no instruction for it.
__device__ __forceinline__ u32 sum_over_warp(u32 x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(FULL_MASK, x);
#else
  return warp_reduce(x, [](u32 y, u32 z) { return y + z; });
#endif
}

// The same; each is less than 2^43.
__device__ __forceinline__ u64 sum_over_warp(u64 x) {
  return sum_over_warp((u32)x & 0xFFFF) + ((u64)sum_over_warp((u32)(x >> 16)) << 16);
}

// Read a value that other blocks have written to `at`. The load bypasses the L1 cache, which may hold an old value.
template <class T>
__device__ __forceinline__ T ld_cg(const T* at) {
  u32 words[sizeof(T) / 4];
#pragma unroll
  for (int k = 0; k < sizeof(T) / 4; k++) words[k] = __ldcg((const u32*)at + k);
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
