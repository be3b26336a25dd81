// Choose what the next superstep does, as the policy would (dispatch/policy.py, `ahead_of`): it pushes if at most
// `most_pushed` edges lead from active vertices, and pulls otherwise. Nothing is chosen once no vertex is active, where
// it would pull but `pulls` is 0, after MOST_SUPERSTEPS, or LONGEST_LAUNCH nanoseconds after the first of the supersteps
// that were launched together. For push_few, the record of its first superstep is cleared.
//   before  the counts of the superstep before
//   tally   those of this one
// Launch: one thread. Shared memory: none.
#include "chosen.cuh"

extern "C" __global__ void choose(const __grid_constant__ Task t) {
  const Page& p = t.page;
  const Tally& last = *p.before;
  Tally& own = *p.tally;
  u64 now = nanoseconds(), passed = last.since ? now - last.since : 0;
  own.since = now - passed;
  own.nanoseconds = passed;
  own.swapped = last.swapped ^ (last.chosen == PULLS && t.context.next_values != t.context.values);
  own.supersteps = last.supersteps;
  bool ends = !last.chosen || !last.active || last.supersteps >= MOST_SUPERSTEPS || passed > LONGEST_LAUNCH;
  if (ends) return;
  if (last.active_edges > p.most_pushed) {
    own.chosen = p.pulls ? PULLS : 0;
  } else {
    bool is_few = last.active <= FEW_LISTS * p.few_threads && last.active_edges <= (u64)FEW_EDGES * p.few_threads;
    own.chosen = is_few && p.few_threads ? PUSHES_FEW : PUSHES;
  }
  if (own.chosen == PUSHES_FEW) t.context.supersteps[own.supersteps] = Superstep{};
  own.supersteps += own.chosen == PUSHES || own.chosen == PULLS;  // push_few counts its own
}
