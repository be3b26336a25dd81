// All kernels for one program, as one translation unit.
#include "collect.cu"
#include "end_pull.cu"
#include "find_not_finite.cu"
#include "mark_starts.cu"
#include "pack.cu"
#include "place_numbers.cu"
#include "prepare.cu"
#include "rank_edges.cu"
#include "reorder.cu"
#if HAS_ROWS
#include "apply_rows.cu"
#include "gather_rows.cu"
#include "gather_rows_packed.cu"
#include "initialize_rows.cu"
#include "report_rows.cu"
#include "sum_row_hubs.cu"
#else
#include "apply.cu"
#include "gather_packed.cu"
#include "gather_segmented.cu"
#include "initialize.cu"
#include "report.cu"
#include "sum_hubs.cu"
#endif
#if CAN_REPLICATE
#include "gather_replicated.cu"
#endif
#if IS_RELAXATION
#include "push_queue.cu"
#endif
#if IS_RELAXATION || PUSHES_DELTAS
#include "choose.cu"
#include "list_frontier.cu"
#include "reverse_values.cu"
#endif
#if (IS_RELAXATION || PUSHES_DELTAS) && !HAS_ROWS
#include "count_partitions.cu"
#include "cut_degrees.cu"
#include "list_partitions.cu"
#include "push_edge_list.cu"
#include "push_listed.cu"
#include "push_pieces.cu"
#include "push_shadows.cu"
#include "push_vertices.cu"
#include "scan_updated.cu"
#include "take_frontier.cu"
#endif
#if IS_RELAXATION && !HAS_ROWS
#include "push_few.cu"
#include "relax_received.cu"
#endif
#if PUSHES_DELTAS
#include "apply_in_turn.cu"
#include "apply_notified.cu"
#include "push_deltas.cu"
#include "push_few_deltas.cu"
#endif
#if GATHERS_UNTIL_DONE
#include "gather_until_done.cu"
#endif
#if HAS_BITS
#include "begin_searches.cu"
#include "note_levels.cu"
#include "spread_levels.cu"
#endif
#if FINDS_PARENTS
#include "find_parents.cu"
#include "find_pushers.cu"
#include "push_parents.cu"
#include "weigh_classes.cu"
#endif
#if COPIES_SOURCES
#include "find_largest.cu"
#include "flatten.cu"
#include "hook_first.cu"
#include "link_edges.cu"
#include "link_second.cu"
#include "link_received.cu"
#include "link_short.cu"
#include "plant.cu"
#include "spread_sums.cu"
#include "sum_trees.cu"
#endif
