"""Graphs beside random ones on which runs are measured, because edges, frontiers and lists have other shapes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.build import from_numbered_edges

Array = npt.NDArray[Any]


def grid(side: int, dimensions: int = 2, kept: float = 1.0) -> Graph:
    """A grid with random weights, and with this share of its edges."""
    numbers = np.arange(side**dimensions).reshape((side,) * dimensions)
    pairs = [(np.delete(numbers, -1, axis), np.delete(numbers, 0, axis)) for axis in range(dimensions)]
    sources, targets = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    stay = np.random.default_rng(3).random(len(sources)) < kept
    return undirected(sources[stay], targets[stay], numbers.size)


def cube(side: int) -> Graph:
    """A grid of three dimensions."""
    return grid(side, 3)


def maze(side: int) -> Graph:
    """A grid that lacks a third of its edges."""
    return grid(side, kept=2 / 3)


def world(scale: int, edge_factor: int) -> Graph:
    """A ring, with 1 to 2 `edge_factor` - 1 edges from each vertex to those behind it; a tenth goes anywhere."""
    random, count = np.random.default_rng(2), 1 << scale
    degrees = random.integers(1, 2 * edge_factor, count)
    sources = np.repeat(np.arange(count), degrees)
    steps = np.arange(len(sources)) - np.repeat(np.cumsum(degrees) - degrees, degrees) + 1
    anywhere = random.random(len(sources)) < 0.1
    targets = np.where(anywhere, random.integers(0, count, len(sources)), (sources + steps) % count)
    differ = sources != targets
    return undirected(sources[differ], targets[differ], count)


def undirected(sources: Array, targets: Array, count: int) -> Graph:
    """An undirected graph whose edges have random weights from 1 to 255."""
    weights = np.random.default_rng(1).integers(1, 256, len(sources)).astype(np.int32)
    return from_numbered_edges(sources, targets, count, weights, directed=False)
