"""How a run uses a GPU, by its options. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..codec.arrays import PACKED
from ..executor.gpu.gather import AUTO, REPLICATED, SEGMENTED
from ..executor.gpu.interface import can_replicate
from ..executor.gpu.settings import GIVEN, ListPush, Settings
from ..executor.modes import GPU
from ..program import BoundProgram
from .options import ANY, HYBRID, RunOptions, finds_components, gpu_may_push
from .watching import looks_at_states


def settings_of(bound: BoundProgram, encoding: str, options: RunOptions, executor: str) -> Settings:
    """How the executor is to use a GPU, for edges in this encoding."""
    policy = options.policy
    return Settings(
        memory=options.gpu_bytes,
        streams=options.streams,
        gather=gather_of(bound, encoding, options),
        replication=options.replication_factor,
        every_edge=policy.every_edge,
        all_vertices=policy.all_vertices,
        work_items=policy.work_items,
        page_edges=options.page_edges,
        deterministic=options.deterministic,
        iterations=options.iterations,
        threads=options.threads,
        offsets=policy.offsets,
        keep=policy.keep,
        two_threads=policy.two_threads,
        transfer=policy.transfer,
        zero_copy=policy.zero_copy,
        page_by_page=policy.chooses_transfers,
        order=GIVEN if options.checkpoint_interval.pages else options.gpu_order,  # pages are told by given numbers
        components=finds_components(bound, options),
        pushes=gpu_may_push(bound, options) and not (executor == HYBRID and bound.pushes_deltas),
        chains=not looks_at_states(options),
        pushes_if_cheaper=executor != HYBRID and options.engine == ANY,  # a policy of a user may pull all the same
        lists=lists_of(bound, options),
        fetch=options.fetch or executor != GPU,
    )


def lists_of(bound: BoundProgram, options: RunOptions) -> ListPush | None:
    """How the run pushes along lists, if its engine does nothing else.

    An engine that processes partitions twice also applies deltas in turn, unless the user asks for supersteps.
    """
    lists = options.lists
    if lists is None or lists.partitions is None or not bound.pushes_deltas:
        return lists
    in_turn = lists.partitions.recomputes and options.sync is None and options.iterations is None
    return replace(lists, partitions=replace(lists.partitions, in_turn=in_turn and not options.deterministic))


def gather_of(bound: BoundProgram, encoding: str, options: RunOptions) -> str:
    """How the GPU sums over edges in this encoding; `AUTO` if a measurement on the GPU decides."""
    if options.gather != AUTO:
        return options.gather
    if encoding == PACKED:
        return PACKED
    if options.deterministic:  # a measured time must not influence the answer
        return SEGMENTED
    gather = options.policy.gather
    return SEGMENTED if gather == REPLICATED and not can_replicate(bound) else gather
