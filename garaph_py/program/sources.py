"""The vertices at which a program starts: its parameters that are vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import Graph
from .fields import VertexId, hints
from .vertex_program import VertexProgram


def vertices_of(kind: type[VertexProgram]) -> list[str]:
    """The parameters of a program that are vertices."""
    return [name for name, hint in hints(kind).items() if hint == VertexId]


@dataclass(frozen=True)
class Source:
    """A vertex at which a program starts, and its number of out-edges."""

    vertex: str
    edges: int


def sources_of(program: VertexProgram, graph: Graph) -> list[Source]:
    """The vertices among a program's parameters."""
    given = [getattr(program, name) for name in vertices_of(type(program))]
    degrees = graph.out_degrees
    return [Source(str(vertex), int(degrees[graph.ids.index(vertex)])) for vertex in given if vertex is not None]


def largest(graph: Graph) -> Any:
    """The id of the vertex with the most out-edges."""
    return id_of(graph, graph.out_degrees.argmax())


def id_of(graph: Graph, vertex: Any) -> Any:
    """The id of the vertex with this number."""
    return np.asarray(graph.ids.take(np.array([vertex]))).tolist()[0]


def ends_at_once(program: VertexProgram, graph: Graph) -> str | None:
    """What a person should know of an answer that is empty for a simple reason: its sources have no out-edges."""
    sources = sources_of(program, graph) if program.gathers == "in" and graph.m else []
    if not sources or any(source.edges for source in sources):
        return None
    names, best = ", ".join(source.vertex for source in sources), largest(graph)
    return f"source {names} has no out-edges, so it reaches no other vertex; {best} has the most out-edges"
