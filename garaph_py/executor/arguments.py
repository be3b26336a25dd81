"""The arguments of all kernels: one table, from which the CPU's records and the GPU's structs are generated.

A kernel lists the names of the arguments that it takes. Types are written as in CUDA C++. The program's own types are
`Value`, `Accumulator`, `Edge`, `VertexData`, `Parameters`, `Total`, `Partial` and `Report`. `Bits` is a word of a
bitmap over vertices: 64 bits on the CPU, 32 bits on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Argument(NamedTuple):
    """One argument: its type in C++, and what it is."""

    name: str
    type: str
    about: str


GRAPH = (
    Argument("n", "i64", "vertices of the graph"),
    Argument("in_offsets", "const i64*", "first in-edge of each vertex, and the number of edges"),
    Argument("out_offsets", "const i64*", "first out-edge of each vertex, and the number of edges"),
    Argument("offsets", "const i64*", "in_offsets, out_offsets or degree_offsets"),
    Argument("degree_offsets", "const i64*", "sums of out-degrees: out_offsets, or the undivided graph's for a part"),
)
PROGRAM = (
    Argument("parameters", "Parameters", "the program's parameters"),
    Argument("vertex_data", "const VertexData*", "the parameters that have a value for each vertex"),
)
STATE = (
    Argument("values", "Value*", "the vertex values that gather reads"),
    Argument("next_values", "Value*", "where apply writes new values; the same array in asynchronous runs"),
    Argument("total", "const Total*", "the sum of what the program aggregated in the last iteration"),
    Argument("frontier", "Bits*", "vertices that changed in the last iteration"),
    Argument("frontier_blocks", "u8*", "non-zero for each block of 4096 vertices that has an active one"),
    Argument("next_frontier", "Bits*", "vertices that change in this iteration"),
    Argument("next_frontier_blocks", "u8*", "non-zero for each block with a vertex of next_frontier"),
    Argument("notified", "Bits*", "vertices with an active in-neighbour"),
    Argument("notified_blocks", "u8*", "non-zero for each block with a notified vertex"),
    Argument("pending", "Bits*", "changed vertices that wait for their bucket"),
    Argument("pending_blocks", "u8*", "non-zero for each block with a pending vertex"),
    Argument(
        "thresholds", "Value*", "two priorities: vertices up to the first are done, up to the second in the bucket"
    ),
)
SET = (
    Argument("vertices", "const Bits*", "a set of vertices"),
    Argument("vertices_blocks", "const u8*", "non-zero for each block with a vertex of the set"),
)
RANGE = (
    Argument("first_vertex", "i64", "the vertices [first_vertex, last_vertex) belong to the call"),
    Argument("last_vertex", "i64", ""),
    Argument("first_edge", "i64", "the edges [first_edge, last_edge) belong to the call"),
    Argument("last_edge", "i64", ""),
    Argument("first_block", "i64", "the blocks [first_block, last_block) of 4096 vertices belong to the call"),
    Argument("last_block", "i64", ""),
    Argument("block", "i64", "the block in which a run of a set's edges begins; in pull-tiled: of destinations"),
    Argument("position", "i64", "index of the block's first edge among the set's edges, laid end to end"),
    Argument("start", "i64", "the set's edges [start, stop), by the same index, belong to the call"),
    Argument("stop", "i64", ""),
)
TREES = (
    Argument("parents", "u32*", "the parent of each vertex in a tree of connected ones; a root is its own parent"),
    Argument("largest", "u32*", "root of the largest tree; 2^32 - 1 before it has been looked for"),
    Argument("samples", "i64", "which edges are linked, on the CPU: 0 all, 1 or 2 the first ones of each vertex"),
)
CPU = (
    Argument("early", "i64", "1 in synchronous runs: a gather ends as soon as `done` holds"),
    Argument("shared", "i64", "an active vertex whose value all active vertices have, or -1"),
    Argument("nearby", "i64", "1 if sources have ids near those of their destinations"),
    Argument("in_place", "i64", "1 in asynchronous runs"),
    Argument("is_first", "i64", "1 in the first call for a page with reentry"),
    Argument("counts_edges", "i64", "1 if push counts the out-edges of the vertices that it activates"),
    Argument("counts", "i64*", "edges visited, vertices activated, their out-edges, and how many may change again"),
    Argument("partial", "Partial*", "the call's part of the total"),
    Argument("most_steps", "i64", "iterations after which the call ends"),
    Argument("queue", "u32*", "active vertices, in any order; on the CPU two queues, used in turns"),
    Argument("spans", "i64*", "where the edges of each vertex of the queue begin and end"),
    Argument("copies", "Value*", "the values of the queue's vertices before the superstep, in synchronous runs"),
    Argument("waiting", "u32*", "the vertices of `pending`, if they are few"),
    Argument("step", "Value*", "how far the next bucket reaches beyond the least priority"),
    Argument("bucket", "i64*", "buckets opened, edges of the last one's vertices at first, and edges followed since"),
    Argument("log", "i64*", "four numbers for each superstep of a call (chain.py)"),
    Argument("most_edges", "i64", "edges of the active vertices up to which another superstep begins"),
    Argument("accumulators", "Accumulator*", "room for the sums of 64 neighbouring vertices"),
    Argument("head", "Accumulator*", "partial sum of the vertex whose edges the partition's first bound cuts"),
    Argument("tail", "Accumulator*", "partial sum of the vertex whose edges the partition's last bound cuts"),
    Argument("cuts", "i64*", "the vertices of head and tail; -1 where the bound cuts none"),
    Argument("partitions", "i64", "number of partitions whose heads, tails and cuts are merged"),
    Argument("edges_by_block", "i64*", "edges of a set's vertices, by block, beginning with first_vertex's block"),
    Argument("least", "Value*", "the least priority of the vertices that wait; on a GPU two, used in turns"),
    Argument("new_words", "const u32*", "new values, as words of 32 bits"),
    Argument("old_words", "u32*", "the values that they replace"),
    Argument("tiles", "const u32*", "edges by tile: offsets of destination and source in their blocks, 16 bits each"),
    Argument("tile_values", "const Edge*", "the values of these edges"),
    Argument("tile_starts", "const i64*", "first edge of each tile, and the number of edges"),
    Argument("tile_blocks", "i64", "number of blocks of destinations, and of sources"),
    Argument("sums", "Accumulator*", "summed contributions: by vertex on the CPU, by rank on a GPU"),
    Argument("listed_sources", "u32*", "the sources of the edges of an edge list, which a GPU pushes along"),
    Argument("listed_targets", "u32*", "their targets"),
    Argument("listed_values", "Edge*", "their values"),
    Argument("place", "i64", "the place in the edge list of the call's first edge"),
    Argument("reported", "Report*", "reported values: of all vertices on the CPU, of the page's on a GPU"),
)
GPU = (
    Argument("in_begins", "const u32*", "low 32 bits of the first in-edge of each vertex (offsets.cuh)"),
    Argument("out_begins", "const u32*", "the same for out-edges"),
    Argument("wraps", "i64", "how often the high bits change in each of these arrays"),
    Argument(
        "copies_by_vertex",
        "u32",
        "1 if a synchronous push finds copies of old values in next_values by vertex, 0 by place in the queue",
    ),
    Argument("kept_sums", "Accumulator*", "the sum of each vertex, to which deltas are pushed; null if none are"),
    Argument("pieces", "ListPiece*", "pieces of the long edge lists of the queue's vertices"),
    Argument(
        "next_queues",
        "u32*",
        "two queues of push_few, used in turns, with room for a small frontier each; of push_few_deltas, one",
    ),
    Argument("supersteps", "Superstep*", "what each superstep of a launch did"),
    Argument("hints", "u32*", "1 + the in-neighbour at which each vertex's last gather ended; 0 for none; may be null"),
    Argument("lost", "u32*", "1 if a value does not fit the 32 bits in which values are stored"),
    Argument(
        "class_edges", "u64*", "in-edges of each class of vertices, then out-edges of those that gave it its value"
    ),
    Argument(
        "targets",
        "const u32*",
        "raw targets of out-edges, whose values the GPU orders, or of an edge list; null in other runs",
    ),
    Argument("first_target", "i64", "these out-edges are [first_target, last_target)"),
    Argument("last_target", "i64", ""),
    Argument("target_values", "Edge*", "the values of these edges"),
    Argument(
        "lists", "const void*", "raw targets of all out-edges, for engines that push along lists; null for others"
    ),
    Argument("list_values", "const Edge*", "the values of these edges"),
    Argument("wide_lists", "u32", "1 if these targets have 8 bytes, 0 if 4"),
    Argument("aligned", "u32", "elements at a multiple of which a warp begins a list; 0 if it begins at its first"),
    Argument("lead", "u32", "elements between the last multiple of 128 bytes and lists[0]"),
    Argument("thread_each", "u32", "1 if each vertex pushes with one thread, 0 if with a warp"),
    Argument("splits", "u32", "1 if the pieces of long lists have a warp each"),
    Argument("degree_limit", "u32", "most edges of a shadow vertex"),
    Argument("prefetches", "u32", "1 if threads fetch their neighbours to shared memory first"),
    Argument("updated", "u8*", "not 0 for each vertex that has changed in this iteration; null without byte map"),
    Argument("whole_shadows", "Shadow*", "the shadow vertices of the queue with degree_limit edges"),
    Argument("part_shadows", "Shadow*", "those with fewer"),
    Argument("pushes_all", "u32", "1 if vertices push what they contribute, not what it changed by"),
    Argument("partition_table", "Partition*", "vertices whose lists reach the GPU in one way; null without"),
    Argument("partition_count", "u32", "number of partitions"),
    Argument("taken", "Bits*", "vertices of the frontier that push now"),
    Argument("in_turn", "u32", "1 if deltas are applied before all vertices of the frontier have pushed"),
    Argument("compacted", "const i64*", "where the list of each vertex of the queue begins; null: as in out_begins"),
    Argument("first_place", "u32", "the places [first_place, last_place) of the queue belong to the call"),
    Argument("last_place", "u32", ""),
    Argument("least_edges", "i64", "only vertices with at least so many in-edges; or, in link_short, with fewer"),
    Argument("starts", "const u32*", "bit e: edge e is the first of its destination"),
    Argument("run_ranks", "const u32*", "for each run: number of destinations that begin before the run"),
    Argument("word_ranks", "const u32*", "for each word w: number of destinations among the vertices before 32 w"),
    Argument("destinations", "const u32*", "the vertices with in-edges, ascending: the vertex of each rank"),
    Argument("heads", "Accumulator*", "for each run: partial sum of the destination that began in an earlier run"),
    Argument("base_edge", "i64", "the number of the edge that sources[0] belongs to"),
    Argument("sources", "const u32*", "raw sources"),
    Argument("edge_values", "const Edge*", "raw edge values"),
    Argument(
        "shard_offsets", "const u16*", "for each raw edge, its destination's rank in its shard; null: bits tell it"
    ),
    Argument("first_mapped", "i64", "edges before base_edge, or from here on, are in host memory (pushes from lists)"),
    Argument("mapped_sources", "const u32*", "raw sources in host memory, from edge 0 on"),
    Argument("mapped_values", "const Edge*", "the same for raw edge values"),
    Argument("mapped_words", "const u32*", "the words of packed sources in host memory, from word 0 on"),
    Argument("mapped_value_words", "const u32*", "the same for packed edge values"),
    Argument("wanted", "u32", "what must be chosen so that the kernel does something (choose.cu); 0: it always does"),
    Argument("before", "const Tally*", "the counts of the superstep before"),
    Argument("listed", "const Tally*", "the counts of the queue, if several launches push from it; null: tally"),
    Argument("most_pushed", "u64", "edges from active vertices up to which a superstep pushes"),
    Argument("pulls", "u32", "1 if the superstep may pull"),
    Argument("few_threads", "u32", "threads of push_few; 0 if the device cannot run it"),
    Argument("records", "const Record*", "records of packed sources, from the run with the page's first edge on"),
    Argument("words", "const u32*", "the words of packed sources"),
    Argument("first_word", "i64", "the number of words[0], in the records' count"),
    Argument("value_records", "const Record*", "records of packed edge values; null if the values are not packed"),
    Argument("value_words", "const u32*", "the words of packed edge values"),
    Argument("first_value_word", "i64", "the number of value_words[0]"),
    Argument("tally", "Tally*", "sums of the counts of the page's thread blocks"),
    Argument("partials", "Partial*", "parts of the total: by thread block on a GPU, by iteration on the CPU"),
    Argument("items", "const Item*", "work items of the page's shards"),
    Argument("tickets", "u32*", "for each split shard: number of its work items that have ended"),
    Argument("clocks", "i64*", "for each work item: cycles that it took; null if not measured"),
    Argument("hubs", "const Hub*", "the page's hubs"),
    Argument("hub_count", "i64", "number of hubs"),
    Argument("first_rank", "i64", "the page's destinations have the ranks [first_rank, last_rank)"),
    Argument("last_rank", "i64", ""),
    Argument("not_finite", "u64*", "bits 2k and 2k + 1: field k of some value is NaN, or infinite"),
    Argument("blocks", "i64", "number of thread blocks that update the page's vertices"),
    Argument("positions", "const u32*", "the GPU's number of each vertex; null if it is the user's"),
    Argument("collected", "Value*", "values by the user's numbers; null if they are not wanted"),
    Argument("collected_bits", "Bits*", "the frontier by the user's numbers; null if it is not wanted"),
    Argument("new_begins", "const u32*", "the same as in_begins, by new numbers"),
    Argument("shifts", "i64*", "for each rank: how far the destination's edges move when vertices get new numbers"),
    Argument("new_sources", "u32*", "all sources by new numbers; null if not wanted"),
    Argument("new_edge_values", "Edge*", "all edge values in the order of the new numbers; null if not wanted"),
)
ARGUMENTS = {item.name: item for item in (*GRAPH, *PROGRAM, *STATE, *SET, *RANGE, *TREES, *CPU, *GPU)}


def arguments(names: Iterable[str]) -> tuple[Argument, ...]:
    """The rows of the table with these names, in their order."""
    return tuple(ARGUMENTS[name] for name in names)
