"""Parallel edges, which a vertex program that gathers contributions cannot tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..pages.passes import EdgeChunk

Array = npt.NDArray[Any]


def refuse_parallel(function: str, graph: Graph, edges: EdgeChunk, parallel: Array) -> None:
    """Refuse edges of which some are `parallel`, a mask, to an earlier one, in a call of `function`.

    Raises
    ------
    GraphError
    """
    if parallel.any():
        at = parallel.argmax()
        ends = graph.ids.take(np.array([edges.sources[at], edges.targets[at]]))
        raise GraphError(
            f"{function} on a GPU, or over edges on disk, needs a graph without parallel edges, and {ends[0]} -> "
            f"{ends[1]} has some; import it again with drop_parallel=True (--drop-parallel)"
        )
