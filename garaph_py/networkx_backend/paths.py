"""The paths that the parents of a search make, as lists of nodes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ..system.garbage import uncollected
from .graph import BackendGraph

Array = npt.NDArray[Any]


@uncollected()
def paths_along(G: BackendGraph, order: Array, parents: Array, backwards: bool = False) -> dict[Any, list[Any]]:
    """The path from its source to each node, or from each node to the source if the search was `backwards`.

    Parameters
    ----------
    G : BackendGraph
    order : ndarray
        The vertices that were found, first the sources, and each after its parent.
    parents : ndarray, shape (n,)
        The vertex before on the path to each of these. That of a source is itself.
    """
    places, count = np.empty(len(G), np.uint32), len(order)
    places[order] = np.arange(count)
    names, before = G.named(order), places[parents[order]]
    sources = int(np.count_nonzero(before == np.arange(count)))
    paths = [[name] for name in names[:sources]]
    for name, place in islice(zip(names, before.tolist(), strict=True), sources, None):
        paths.append([name, *paths[place]] if backwards else [*paths[place], name])
    return dict(zip(names, paths, strict=True))
