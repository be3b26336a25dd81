"""Runs programs of one class in blocks: as columns of one program, or searches as bits of one word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..apps.bfs import BFS
from ..executor.levels import SOURCES
from ..executor.memory import vertex_bytes
from ..graph import Graph
from ..output.result import Result
from ..program import BoundProgram, VertexProgram, bind, oriented
from ..program.columns import MOST_COLUMNS, column_of, joined, may_join
from ..program.dtypes import scalars
from ..program.orientation import gathers_both_ways
from ..program.vertex_data import Made
from ..system.memory import available_memory
from .carry_out import carry_out, encoded
from .options import RunOptions, check_run_options
from .result import result_of
from .run import execute
from .searches import run_searches, without_parents
from .verify import verifier_of

Array = npt.NDArray[Any]
Make = Callable[[], Result]

MEMORY_SHARE = 0.5
"""The share of the memory left that the values of the columns may take: the table needs about as much again."""


@dataclass(frozen=True)
class Block:
    """The reports of programs that ran together: a function that makes each one's result, and all of them as rows, if
    they have rows."""

    results: list[Make]
    rows: Array | None = None


def in_blocks(
    programs: list[VertexProgram], graph: Graph, options: RunOptions, on_event: events.Listener
) -> Iterator[Block]:
    """Run the programs in blocks: as many together as fit, and about equally many in each."""
    if not programs:
        return
    turned = oriented(programs[0], graph)
    made: Made = {}
    run: Callable[..., Block] = partial(run_block, made=made)
    width, are_searches = 1, type(programs[0]) is BFS
    if are_searches:
        run, width = as_bits, SOURCES
    elif not gathers_both_ways(programs[0]) and may_join(first := bind(programs[0], turned, made=made)):
        width = width_of(first, turned)
    count = -(-len(programs) // width)
    for k in range(count):
        together = programs[k * len(programs) // count : (k + 1) * len(programs) // count]
        block = run(together, graph, replace(options, verify=False), on_event)
        if options.verify:
            for program, result in zip(together, block.results, strict=True):
                verifier_of(without_parents(program) if are_searches else program)(turned, result())
        yield block
        del block  # a caller that wants one after another has memory for one


def width_of(bound: BoundProgram, graph: Graph, kept: int = 0) -> int:
    """How many columns of such a program fit a row, and the memory that is left.

    `kept` is the number of bytes that the caller keeps for each vertex and column.
    """
    numbers = max(len(scalars(bound.value)), len(scalars(bound.accumulator)))
    data = 0 if bound.vertex_data is None else bound.vertex_data.itemsize
    column = graph.n * (2 * bound.value.itemsize + bound.reports.itemsize + data + kept)
    memory = available_memory() if graph.memory is None else graph.memory - vertex_bytes(bound, graph, arrays=2)
    return max(1, min(MOST_COLUMNS // numbers, int(MEMORY_SHARE * memory / max(column, 1))))


def run_block(
    programs: list[VertexProgram], graph: Graph, options: RunOptions, on_event: events.Listener, made: Made
) -> Block:
    """Run programs together, or in groups if they are compiled to different code, as for parameters of other types.

    `made` is what has been made of their parameters so far (`bind`).
    """
    if len(programs) == 1:
        alone = execute(programs[0], graph, options, on_event)
        return Block([lambda: alone])
    turned = oriented(programs[0], graph)
    columns = [bind(program, turned, made=made) for program in programs]
    groups: dict[str, list[int]] = {}
    for k, column in enumerate(columns):
        groups.setdefault(column.key, []).append(k)
    if len(groups) > 1:
        found: dict[int, Make] = {}
        for group in groups.values():
            block = run_block([programs[k] for k in group], graph, options, on_event, made)
            found.update(zip(group, block.results, strict=True))
        return Block([found[k] for k in range(len(programs))])
    bound = joined(columns)
    check_run_options(options, bound, turned)
    rows = carry_out(bound, encoded(turned, options), options, on_event, None)
    results: list[Make] = [partial(column_result, rows, column, c) for c, column in enumerate(columns)]
    return Block(results, as_matrix(rows.values, columns[0].reports, len(columns)))


def as_matrix(rows: Array, dtype: np.dtype[Any], count: int) -> Array | None:
    """Rows with `count` columns of type `dtype` as a matrix, without a copy; None if columns have several fields."""
    kinds = scalars(dtype)
    return rows.view(kinds[0]).reshape(len(rows), count) if len(kinds) == 1 else None


def as_bits(programs: list[VertexProgram], graph: Graph, options: RunOptions, on_event: events.Listener) -> Block:
    """Run breadth-first searches together."""
    return Block(*run_searches(programs, graph, options, on_event))


def column_result(rows: Result, column: BoundProgram, number: int) -> Result:
    """The result of one column."""
    return result_of(column, rows.vertex_ids, column_of(rows.values, column.reports, number), rows.stats)
