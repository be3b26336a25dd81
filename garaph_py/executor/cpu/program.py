"""The kernels of one bound program, kept until the process ends: later runs of the program find them compiled."""

from __future__ import annotations

from functools import cached_property

from ...program import BoundProgram
from .chain import make_push_few
from .components import make_hook_first, make_link_edges, make_spread_sums, make_sum_trees
from .edges import Reader
from .functions import functions
from .list_edges import make_list_edges
from .open_bucket import make_open_bucket
from .parents import make_find_parents
from .pull import make_find_unfinished, make_merge_partial_sums, make_pull, make_pull_notified
from .pull_active import make_pull_active
from .pull_few import make_pull_few
from .pull_tiled import make_pull_tiled
from .push import make_push
from .push_by_target import make_push_by_target
from .push_deltas import make_apply_sums, make_push_deltas
from .records import RecordKernel
from .reentry import make_reenter
from .sets import make_commit
from .vertices import make_init, make_prepare, make_result

_known: dict[tuple[str, Reader], Kernels] = {}


def kernels(bound: BoundProgram, reader: Reader) -> Kernels:
    """The kernels of `bound`, for edges that `reader` reads.

    Raises
    ------
    ProgramError
        If a function cannot be compiled, or does not have the property that the program declares.
    """
    key = bound.key, reader
    if key not in _known:
        _known[key] = Kernels(bound, reader)
    return _known[key]


class Kernels:
    """The kernels, each compiled when it is first needed: a program that never notifies does not wait for
    `pull_notified`."""

    def __init__(self, bound: BoundProgram, reader: Reader) -> None:
        self._functions, self._reader = functions(bound), reader
        self._words = bound.value.itemsize // 4
        self._has_priority = "priority" in bound.arguments
        self._finds_parents = bound.finds_parents
        self._ends_early = "done" in bound.arguments
        self._kind, self._total = bound.value, bound.total

    @cached_property
    def init(self) -> RecordKernel:
        return make_init(self._functions)

    @cached_property
    def prepare(self) -> RecordKernel:
        return make_prepare(self._functions)

    @cached_property
    def pull(self) -> RecordKernel:
        return make_pull(self._functions, self._reader)

    @cached_property
    def pull_few(self) -> RecordKernel:
        return make_pull_few(self._functions, self._reader, self._total)

    @cached_property
    def pull_keeping(self) -> RecordKernel:
        """Like `pull`; it also keeps the vertices' sums, as `merge_keeping` does."""
        return make_pull(self._functions, self._reader, keeps_sums=True)

    @cached_property
    def pull_active(self) -> RecordKernel:
        return make_pull_active(self._functions, self._reader, self._ends_early)

    @cached_property
    def pull_notified(self) -> RecordKernel:
        return make_pull_notified(self._functions, self._reader)

    @cached_property
    def pull_unfinished(self) -> RecordKernel:
        """Like `pull_notified`, from active sources only."""
        return make_pull_notified(self._functions, self._reader, active_only=True)

    @cached_property
    def find_unfinished(self) -> RecordKernel:
        return make_find_unfinished(self._functions)

    @cached_property
    def pull_tiled(self) -> RecordKernel:
        return make_pull_tiled(self._functions)

    @cached_property
    def merge_partial_sums(self) -> RecordKernel:
        return make_merge_partial_sums(self._functions)

    @cached_property
    def merge_keeping(self) -> RecordKernel:
        return make_merge_partial_sums(self._functions, keeps_sums=True)

    @cached_property
    def push_deltas(self) -> RecordKernel:
        return make_push_deltas(self._functions, self._reader)

    @cached_property
    def apply_sums(self) -> RecordKernel:
        return make_apply_sums(self._functions)

    @cached_property
    def list_edges(self) -> RecordKernel:
        return make_list_edges(self._functions, self._reader)

    @cached_property
    def push(self) -> RecordKernel:
        return make_push(self._functions, self._reader, self._has_priority)

    @cached_property
    def push_by_target(self) -> RecordKernel:
        return make_push_by_target(self._functions, self._reader, self._has_priority)

    @cached_property
    def push_few(self) -> RecordKernel:
        return make_push_few(self._functions, self._reader, self._has_priority, self._kind)

    @cached_property
    def reenter(self) -> RecordKernel:
        return make_reenter(self._functions, self._reader)

    @cached_property
    def open_bucket(self) -> RecordKernel:
        return make_open_bucket(self._functions, self._kind)

    @cached_property
    def hook_first(self) -> RecordKernel:
        return make_hook_first(self._reader)

    @cached_property
    def link_edges(self) -> RecordKernel:
        return make_link_edges(self._reader)

    @cached_property
    def link_once(self) -> RecordKernel:
        return make_link_edges(self._reader, once=True)

    @cached_property
    def sum_trees(self) -> RecordKernel:
        return make_sum_trees(self._functions)

    @cached_property
    def spread_sums(self) -> RecordKernel:
        return make_spread_sums(self._functions)

    @cached_property
    def commit(self) -> RecordKernel:
        return make_commit(self._words)

    @cached_property
    def result(self) -> RecordKernel:
        return make_result(self._functions, self._finds_parents)

    @cached_property
    def find_parents(self) -> RecordKernel:
        return make_find_parents(self._functions, self._reader)
