"""Checks of the arguments that several public functions take: a graph, alone or before a path."""

from __future__ import annotations

from typing import Any

from ..errors import ParameterError
from .graph import Graph

MAKERS = {
    "networkx": "from_networkx", "pandas": "from_pandas", "scipy": "from_scipy", "pyarrow": "from_arrow",
    "polars": "from_arrow", "duckdb": "from_arrow", "igraph": "from_networkx(graph.to_networkx())",
}  # fmt: skip
"""The function that makes a graph from an object of each package."""


def kind_of(item: Any) -> str:
    """The type of `item` with its module, for messages: ``igraph.Graph``, ``list``."""
    return f"{type(item).__module__}.{type(item).__name__}".removeprefix("builtins.")


def check_graph(graph: Any, function: str) -> None:
    """Refuse what is no graph, in a call of `function`."""
    if not isinstance(graph, Graph):
        kind = kind_of(graph)
        maker = MAKERS.get(kind.partition(".")[0], "read, open or from_edges")
        raise ParameterError(f"{function} takes a Graph, not {kind}; make one with {maker}")


def check_graph_to_write(graph: Any, path: Any, function: str) -> None:
    """Refuse what is no graph, in a call of `function`, which takes a graph and then a path."""
    if isinstance(path, Graph):
        raise ParameterError(f"{function} takes the graph first, then the path; write {function}(graph, path)")
    check_graph(graph, function)
