// Push along the pieces into which long lists are split, a warp each. Without a queue, their places are vertices. Warps
// take the last piece that is left, so that what all of them read at a time lies close together.
// Launch: any number of threads, after push_listed or push_vertices. Shared memory: none.
#include "lists.cuh"
#include "pieces.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) push_pieces(const __grid_constant__ Task t) {
  const Context& c = t.context;
  for (;;) {
    int k = lane_id() == 0 ? (int)atomicSub(&t.page.tally->pieces, 1) - 1 : 0;
    k = __shfl_sync(FULL_MASK, k, 0);
    if (k < 0) return;
    ListPiece piece = c.pieces[k];
    u32 v = c.queue ? c.queue[piece.place] : piece.place;
    i64 begin = out_offsets(c)[v], end = out_offsets(c)[v + 1];
    i64 shift = shift_of(c, piece.place, begin);
    keep_piece(c, piece.number, begin, end);
    push_by_warp(c, pushed_by(c, piece.place, v), v, begin + shift, end + shift);
  }
}
