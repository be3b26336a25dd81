"""A graph in words, for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..system.sizes import counted


def in_words(n: int, m: int, directed: bool, edge_dtype: np.dtype[Any] | None, edges: int | None = None) -> str:
    """A graph's sizes in a line; `edges` is their number as people count them, None if only the stored are known."""
    count = counted(m, "directed edge") if directed else f"{counted(m, 'stored edge')} of an undirected graph"
    if not directed and edges is not None:
        count = counted(edges, "undirected edge")
    return f"{counted(n, 'vertex', 'vertices')}, {count}" + ("" if edge_dtype is None else f", {edge_dtype} values")
