"""Drawings in a report: the places of points and ticks."""

from __future__ import annotations

import re

import pytest

from garaph_py.events import Iteration
from garaph_py.output import draw


def test_f_of_zero_is_drawn_at_the_bottom() -> None:
    rows = [Iteration(k, "push", f, 1, 1, 1, 0, 0.1, started=float(k)) for k, f in enumerate((1.0, 0.01, 0.0))]
    heights = [float(y) for y in re.findall(r'cy="([^"]*)"', draw.curve_of(rows, "f"))]
    assert heights == [draw.TOP, draw.TOP + draw.CURVE, draw.TOP + draw.CURVE]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 7), (0.0, 1e-7), (3, 3), (0, 12345), (5, 250000)])
def test_ticks_are_round_and_few(first: float, last: float) -> None:
    found = draw.ticks(first, last)
    assert 1 <= len(found) <= 11
    assert all(first <= tick <= last for tick in found)
