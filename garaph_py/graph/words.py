"""A graph in words, for people."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_words(n: int, m: int, directed: bool, edge_dtype: np.dtype[Any] | None, edges: int | None = None) -> str:
    """A graph's sizes in a line; `edges` is their number as people count them, None if only the stored are known."""
    count = f"{m:,} directed edges" if directed else f"{m:,} stored edges of an undirected graph"
    if not directed and edges is not None:
        count = f"{edges:,} undirected edges"
    return f"{n:,} vertices, {count}" + ("" if edge_dtype is None else f", {edge_dtype} values")
