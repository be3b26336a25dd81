// How long edge lists are cut: at multiples of PIECE edges, counted from the last line of 128 bytes before the first edge
// in memory.
#pragma once

#include "vertices.cuh"

// The number of pieces of the list [begin, end).
__device__ __forceinline__ u32 pieces_of(const Context& c, i64 begin, i64 end) {
  return (end - 1 + c.lead) / PIECE - (begin + c.lead) / PIECE + 1;
}

// Write the pieces of the list [begin, end) of the vertex at `place` in the queue behind the `count` pieces of others;
// none if it has fewer than PIECE edges.
__device__ __forceinline__ void list_pieces(const Context& c, u32* count, u32 place, i64 begin, i64 end) {
  if (end - begin < PIECE) return;
  u32 pieces = pieces_of(c, begin, end), to = atomicAdd(count, pieces);
  for (u32 k = 0; k < pieces; k++) c.pieces[to + k] = ListPiece{place, k};
}

// Narrow the list [begin, end) to its piece of this number.
__device__ __forceinline__ void keep_piece(const Context& c, u32 number, i64& begin, i64& end) {
  i64 first = ((begin + c.lead) / PIECE + number) * PIECE - c.lead;
  begin = max(begin, first), end = min(end, first + PIECE);
}
