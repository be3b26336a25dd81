"""Fits costs to measured times, by least squares with non-negative coefficients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from .machine import UnitCost, doublings
from .recorded import Record, RecordedRun

Array = npt.NDArray[Any]

ROUNDS = 20
"""Number of rounds in which `fit` finds its weights."""
MIN_SECONDS = 1e-9
"""Lower bound (s) on the fitted times from which `fit` computes its weights."""
TRUST = 0.03
"""Weight of what `fit` expects, as a share of that of the measurements. On graphs that were not compared, 0.003 to 0.03
predicted 68 to 71 runs of 84 within 15 % for other programs' costs (`compare`), 0.1 and 0.3 predicted 63 and 57."""
WEIGHINGS, LEAST_ERROR = 20, 1e-3
"""Rounds of least squares with weights that make them the least sum of errors, which a few disturbed iterations change
little; and the error, as a share of the measured time, that a weight is computed from at least."""


def iterations(runs: Iterable[RecordedRun], device: str) -> Iterator[tuple[RecordedRun, Record]]:
    """The iterations of `runs` on a device, each with its run."""
    return ((run, row) for run in runs for row in run.rows if row["device"] == device)


def fit(
    columns: Sequence[Any], seconds: Sequence[float], wholes: Sequence[float] | None = None,
    expected: Sequence[float] | None = None,
) -> list[float]:  # fmt: skip
    """Find the non-negative coefficients of `columns` whose weighted sum is the best fit to `seconds`.

    Weighted least squares: the weight of each square is one over the fitted value, found in a few rounds. With these
    weights, the fitted values have the same sum as `seconds`. If the `wholes` are given, of which each of the `seconds`
    is a part, it is the shares of these that have the same sum. If coefficients are `expected`, those that the
    columns do not tell apart stay near them: a deviation weighs `TRUST` times as much as one from the `seconds`.
    """
    measured = np.asarray(seconds, float)
    parts = np.ones(len(measured)) if wholes is None else np.asarray(wholes, float)
    table = np.asarray(columns, float).T
    scale = np.maximum(table.max(axis=0), 1e-300)
    table = table / scale
    found, fitted = np.zeros(len(scale)), measured
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(np.maximum(fitted, MIN_SECONDS) * np.maximum(parts, MIN_SECONDS))
        rows, right = table * weights[:, None], measured * weights
        if expected is not None:
            held = math.sqrt(TRUST) * np.linalg.norm(rows, axis=0)
            rows, right = np.vstack([rows, np.diag(held)]), np.append(right, held * scale * np.asarray(expected))
        found, _ = nnls(rows, right)
        fitted = table @ found
    return [float(value) for value in found / scale]


def least_errors(table: Array, right: Array) -> Array:
    """The non-negative coefficients of the columns of `table` for which the sum of the errors, without their signs, is
    least; each row is a share of a measured time."""
    errors, found = np.ones(len(right)), np.zeros(table.shape[1])
    for _ in range(WEIGHINGS):
        weights = 1 / np.sqrt(np.maximum(errors, LEAST_ERROR))
        found, _ = nnls(table * weights[:, None], right * weights)
        errors = np.abs(right - table @ found)
    return found


def fit_edges(found: Sequence[tuple[RecordedRun, Record]], *others: Sequence[float]) -> tuple[UnitCost, list[float]]:
    """The cost of an edge in these iterations, which grows with the vertex data if it differs between the runs; then
    the coefficients of the columns `others`, and the fixed seconds of an iteration."""
    edges = np.array([row["edges"] for _, row in found], float)
    steps = np.array([doublings(run.workload.vertex_data) for run, _ in found])
    grows = len(set(steps)) > 1
    columns = [edges, *[edges * steps] * grows, *others, np.ones(len(found))]
    base, *rest = fit(columns, [row["seconds"] for _, row in found])
    return UnitCost(base, rest.pop(0) if grows else 0.0), rest


def sizes(runs: Iterable[RecordedRun]) -> tuple[float, float]:
    """The least and the most vertex data (bytes) of the runs."""
    data = [float(run.workload.vertex_data) for run in runs]
    return min(data), max(data)
