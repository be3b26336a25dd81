"""The library's programs beside their twins, as tables that tests go through."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from garaph_py import apps
from tests.support import twins

CHANGED = 1e-300
"""A tolerance that only equal values meet."""
CLOSE = 1e-10


@dataclass(frozen=True)
class Exact:
    """A program with exactly one right answer: ``program(edges)``, and its reference ``twin(edges)``."""

    name: str
    program: Callable
    twin: Callable
    weights: str | None = None
    symmetric: bool = False


@dataclass(frozen=True)
class Float:
    """A program with a twin for every synchronous iteration, ``twin(edges, iterations)``.

    ``program(edges)`` treats every change as one; ``settling(edges)`` ignores changes below `CLOSE`, and ``step(edges,
    values)`` of what it settles on is about the same again.
    """

    name: str
    program: Callable
    twin: Callable
    settling: Callable
    step: Callable
    weights: str | None = None


def mostly_full(cases: Iterable, *kept: str) -> list:
    """The cases as parameters of a test; all but those named in `kept`, which must be among them, are marked `full`."""
    named = [(getattr(case, "name", str(case)), case) for case in cases]
    if others := set(kept).difference(name for name, _ in named):
        raise ValueError(f"no case is called {' or '.join(sorted(others))}, so the test would only run with `full`")
    return [pytest.param(case, id=name, marks=() if name in kept else pytest.mark.full) for name, case in named]


def mostly_kept(cases: Iterable) -> list:
    """The cases as parameters of a test that repeats for each program what other tests do for all of them."""
    listed = list(cases)
    return mostly_full(listed, *{"BFS", "SSSP-int", "PageRank"}.intersection(case.name for case in listed))


def hub(edges):
    return int(edges.out_degrees.argmax())


def numbers(edges):
    """One number a vertex."""
    return np.random.default_rng(edges.n).random(edges.n)


def some(edges):
    """A number for a fifth of the vertices, NaN for the others."""
    return np.where(numbers(edges) < 0.2, 10 * numbers(edges), np.nan)


def stable(edges):
    return 0.9 / max(1, edges.sums(edges.numbers).max())


def delta_step(edges, values):
    return twins.pagerank(edges, 1, values, dangling="drop")


def heat(edges, tolerance):
    return apps.HeatSimulation(numbers(edges), some(edges), conductivity=stable(edges), tolerance=tolerance)


def hitting(edges, tolerance):
    return apps.PenalizedHittingProbability(hub(edges), tolerance=tolerance)


EXACT = (
    Exact("BFS", lambda e: apps.BFS(hub(e)), lambda e: twins.bfs(e, hub(e))),
    Exact("SSSP-int", lambda e: apps.SSSP(hub(e)), lambda e: twins.sssp(e, hub(e)), "int32"),
    Exact("SSSP-float", lambda e: apps.SSSP(hub(e)), lambda e: twins.sssp(e, hub(e)), "float64"),
    Exact("SSWP-int", lambda e: apps.SSWP(hub(e)), lambda e: twins.sswp(e, hub(e)), "int32"),
    Exact("SSWP-float", lambda e: apps.SSWP(hub(e)), lambda e: twins.sswp(e, hub(e)), "float64"),
    Exact("ConnectedComponents", lambda e: apps.ConnectedComponents(), twins.components, symmetric=True),
)

FLOAT = (
    Float(
        "PageRank",
        lambda e: apps.PageRank(stop="never"),
        twins.pagerank,
        lambda e: apps.PageRank(tolerance=CLOSE),
        lambda e, values: twins.pagerank(e, 1, values),
    ),
    Float(
        "DeltaPageRank",
        lambda e: apps.DeltaPageRank(tolerance=0.05),
        lambda e, k: twins.delta_pagerank(e, k, tolerance=0.05),
        lambda e: apps.DeltaPageRank(tolerance=CLOSE),
        delta_step,
    ),
    Float(
        "NeuralNetwork",
        lambda e: apps.NeuralNetwork(numbers(e), tolerance=CHANGED),
        lambda e, k: twins.neural_network(e, k, numbers(e)),
        lambda e: apps.NeuralNetwork(numbers(e), tolerance=CLOSE),
        lambda e, values: twins.neural_network(e, 1, values),
        "float64",
    ),
    Float(
        "HeatSimulation",
        lambda e: heat(e, CHANGED),
        lambda e, k: twins.heat(e, k, numbers(e), some(e), stable(e)),
        lambda e: heat(e, CLOSE),
        lambda e, values: twins.heat(e, 1, values, some(e), stable(e)),
        "float64",
    ),
    Float(
        "CircuitSimulation",
        lambda e: apps.CircuitSimulation(some(e), tolerance=CHANGED),
        lambda e, k: twins.circuit(e, k, np.zeros(e.n), some(e)),
        lambda e: apps.CircuitSimulation(some(e), tolerance=CLOSE),
        lambda e, values: twins.circuit(e, 1, values, some(e)),
        "float64",
    ),
    Float(
        "PenalizedHittingProbability",
        lambda e: hitting(e, CHANGED),
        lambda e, k: twins.hitting_probability(e, k, np.zeros(e.n), hub(e), 0.8),
        lambda e: hitting(e, CLOSE),
        lambda e, values: twins.hitting_probability(e, 1, values, hub(e), 0.8),
    ),
)


def columns(result):
    """Reported values, an array a field."""
    fields = result.values.dtype.names
    return tuple(result.values[name] for name in fields) if fields else (result.values,)


def assert_exact(result, expected):
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, wanted in zip(columns(result), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def assert_close(result, expected):
    np.testing.assert_allclose(result.values, expected, rtol=1e-12, atol=1e-15)
