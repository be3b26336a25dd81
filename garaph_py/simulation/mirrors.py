"""How many mirrors a part of a graph has: sources of its edges that belong to other parts.

Each part gets the values of its mirrors after an iteration, so their number is what a cluster's links have to carry.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..graph.generate import A, B

Array = npt.NDArray[np.float64]

SOURCE_BIT = A + B
"""Chance that a bit of an edge's source is 0 in the R-MAT graphs of Graph500."""


def rmat_mirrors(vertices: int, edges: int, parts: int) -> float:
    """The expected number of mirrors of one of `parts` parts of an R-MAT graph.

    Vertices are numbered at random, as Graph500 does it, and each part has equally many edges. The vertex whose number
    before that has k bits that are 1 is the source of an edge with a chance that depends on k only; edges are drawn one
    by one.

    Parameters
    ----------
    vertices, edges : int
        Size of the graph; its scale is the next whole number to log2 of `vertices`.
    parts : int

    Returns
    -------
    float
        Sources of the part's edges, without those that are its own.
    """
    scale = max(round(math.log2(max(vertices, 2))), 1)
    ones = np.arange(scale + 1)
    alike = np.array([math.comb(scale, k) for k in ones.tolist()], float)
    chance = SOURCE_BIT ** (scale - ones) * (1 - SOURCE_BIT) ** ones
    sources = alike @ -np.expm1(-edges / parts * chance) * vertices / 2**scale
    return float(sources * (1 - 1 / parts))
