"""The outputs of a run: its result, and the facts that its trace records so that a simulation can replay it."""

from __future__ import annotations

import reprlib
from dataclasses import asdict, fields
from typing import Any, cast

import numpy.typing as npt

from ..executor.cpu.nearby import has_nearby_sources
from ..executor.state import Values
from ..graph import Graph, VertexIds
from ..graph.shape import Shape
from ..output.result import Result
from ..output.stats import Stats
from ..program import BoundProgram, VertexId, VertexProgram
from ..program.fields import means
from .options import RunOptions

Array = npt.NDArray[Any]


def result_of(bound: BoundProgram, ids: VertexIds, values: Values, stats: Stats) -> Result:
    """The result of a run with these reported values."""
    unreached = bound.program.unreached
    if unreached is None and bound.is_relaxation and "result" not in bound.arguments:
        unreached = (bound.original or bound).identity()
    return Result(cast("Array", values), ids, stats, bound.name, vertex_results(bound.program), unreached)


def vertex_results(program: VertexProgram) -> tuple[str, ...]:
    """Names of the reported fields whose values are vertices."""
    reports = program.reports
    if isinstance(reports, dict):
        return tuple(name for name, kind in reports.items() if means(kind, VertexId))
    return ("value",) if means(reports, VertexId) else ()


def recorded_facts(
    bound: BoundProgram, graph: Graph, options: RunOptions, synchronous: bool, threads: int
) -> dict[str, Any]:
    """The facts that traces and reports have about the run, the program and the graph. Do not rename them: existing
    traces use these names."""
    return {
        "engine": options.engine,
        "mode": options.mode,
        "device": options.device,
        "synchronous": synchronous,
        "gpu_memory": options.gpu_bytes,
        "program": bound.name,
        "vertices": graph.n,
        "edges": graph.m,
        "directed": graph.directed,
        "encoding": graph.encoding,
        "value_bytes": bound.value.itemsize,
        "edge_value_bytes": bound.edge_value_bytes,
        "everybody": bound.updates_all_vertices,
        "relaxes": bound.is_relaxation,
        "deltas": bound.pushes_deltas,
        "done": "done" in bound.arguments,
        "ends_late": bound.ends_late,
        "priority": "priority" in bound.arguments and not graph.on_disk,
        "pushes": graph._arrays.has_valued_out_edges or not bound.reads_edge_values,
        "threads": threads,
        "parameters": parameters_of((bound.original or bound).program),
        "graph": str(graph)[len("<Graph: ") : -1],
        "options": options_of(options),
        **{f"graph_{name}": value for name, value in asdict(Shape.of(graph._arrays.in_edges)).items()},
        "graph_nearby": has_nearby_sources(graph._arrays),
    }


def parameters_of(program: VertexProgram) -> dict[str, str]:
    """A program's parameters as text."""
    given = {item.name: getattr(program, item.name) for item in fields(program) if item.init}  # type: ignore[arg-type]
    return {name: getattr(value, "__name__", None) or reprlib.repr(value) for name, value in given.items()}


def options_of(options: RunOptions) -> dict[str, str]:
    """The options that differ from their defaults, as text, without the files that say so."""
    asked = [item for item in fields(options) if item.name not in ("trace", "report")]
    given = {item.name: (getattr(options, item.name), item.default) for item in asked}
    return {name: str(value) for name, (value, usual) in given.items() if value != usual}
