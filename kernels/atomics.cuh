// A program's sum as an atomic operation (Garaph Figure 4): CUDA's own instruction if there is one for the type,
// otherwise a loop around compare-and-swap.
#pragma once

#include "words.cuh"

template <int BYTES> struct Word {};
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef u64 type; };

template <class T, class Next>
__device__ __forceinline__ void atomic_replace(T* at, Next next) {
  typedef typename Word<sizeof(T)>::type word_t;
  word_t seen = *(volatile word_t*)at, expected;
  do {
    T old, fresh;
    memcpy(&old, &seen, sizeof(T));
    fresh = next(old);
    word_t word;
    memcpy(&word, &fresh, sizeof(T));
    if (word == seen) return;
    expected = seen;
    seen = atomicCAS((word_t*)at, expected, word);
  } while (seen != expected);
}

__device__ __forceinline__ void atomic_add(int* at, int x) { atomicAdd(at, x); }
__device__ __forceinline__ void atomic_add(u32* at, u32 x) { atomicAdd(at, x); }
__device__ __forceinline__ void atomic_add(i64* at, i64 x) { atomicAdd((u64*)at, (u64)x); }
__device__ __forceinline__ void atomic_add(u64* at, u64 x) { atomicAdd(at, x); }
__device__ __forceinline__ void atomic_add(float* at, float x) { atomicAdd(at, x); }
__device__ __forceinline__ void atomic_add(double* at, double x) { atomicAdd(at, x); }

template <class T>
__device__ __forceinline__ void atomic_min(T* at, T x) { atomicMin(at, x); }
__device__ __forceinline__ void atomic_min(float* at, float x) {
  atomic_replace(at, [x](float y) { return x < y ? x : y; });
}
__device__ __forceinline__ void atomic_min(double* at, double x) {
  atomic_replace(at, [x](double y) { return x < y ? x : y; });
}

template <class T>
__device__ __forceinline__ void atomic_max(T* at, T x) { atomicMax(at, x); }
__device__ __forceinline__ void atomic_max(float* at, float x) {
  atomic_replace(at, [x](float y) { return x > y ? x : y; });
}
__device__ __forceinline__ void atomic_max(double* at, double x) {
  atomic_replace(at, [x](double y) { return x > y ? x : y; });
}

template <class T>
__device__ __forceinline__ void atomic_and(T* at, T x) {
  if constexpr (sizeof(T) == 4) atomicAnd((u32*)at, (u32)x); else atomicAnd((u64*)at, (u64)x);
}
template <class T>
__device__ __forceinline__ void atomic_or(T* at, T x) {
  if constexpr (sizeof(T) == 4) atomicOr((u32*)at, (u32)x); else atomicOr((u64*)at, (u64)x);
}
template <class T>
__device__ __forceinline__ void atomic_xor(T* at, T x) {
  if constexpr (sizeof(T) == 4) atomicXor((u32*)at, (u32)x); else atomicXor((u64*)at, (u64)x);
}
