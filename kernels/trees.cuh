// Trees of connected vertices (Afforest; Sutton et al., IPDPS 2018): each vertex has a parent, and a root is its own.
#pragma once

#include "offsets.cuh"
#include "packed_lists.cuh"

// The parent of `v` as it is now: other threads change it meanwhile.
__device__ __forceinline__ u32 parent_of(const Context& c, u32 v) { return *(volatile u32*)&c.parents[v]; }

// The root of the tree of `v`. On the way there, each vertex gets its grandparent as its parent, so that others have a
// shorter way. (Path halving. Several threads may do so at once: any ancestor is right.)
__device__ __forceinline__ u32 root_of(const Context& c, u32 v) {
  u32 root = parent_of(c, v);
  for (u32 next; (next = parent_of(c, root)) != root; root = next) {
    c.parents[v] = next;
    v = root;
  }
  return root;
}

// Join the trees of `u` and `v`: the larger root becomes a child of the smaller one, or of a vertex of its tree.
__device__ __forceinline__ void link(const Context& c, u32 u, u32 v) {
  u32 a = root_of(c, u), b = root_of(c, v);
  while (a != b) {
    u32 high = max(a, b), low = min(a, b), parent = parent_of(c, high);
    if (parent == high) {  // of many threads that want to join the same tree, most find it done
      parent = atomicCAS(&c.parents[high], high, low);
      if (parent == high) return;
    }
    a = root_of(c, parent);
    b = low;
  }
}
