"""Points of figures: what is pooled, and correlations."""

from __future__ import annotations

from typing import Any

from garaph_py.experiment.figure import Figure
from garaph_py.experiment.points import correlations, known, panels_of

ROW = {"combination": 0, "graph": "rmat:4:4", "error": None}


def rows_of(pairs: list[tuple[int, float, int]], **more: Any) -> list[dict[str, Any]]:
    return [ROW | {"page": page, "seconds": seconds, "largest": largest} | more for page, seconds, largest in pairs]


def test_the_correlation_is_of_medians() -> None:
    figure = Figure("f", "page_times", "line", "page", ("seconds",), (), (), correlate="largest")
    rows = rows_of([(0, 1.0, 10), (0, 3.0, 10), (1, 4.0, 20), (2, 6.0, 30)])
    panels = panels_of(figure, rows)
    assert correlations(figure, panels) == ["Correlation of seconds and largest: seconds: 1.0000."]
    assert (
        correlations(figure, panels_of(figure, rows_of([(0, 1.0, 1), (1, 2.0, 2)]))) == []
    )  # two are always on a line


def test_combinations_are_pooled_by_their_medians() -> None:
    figure = Figure("f", "results", "line", "page", ("seconds",), (), ())
    rows = rows_of([(0, 1.0, 0), (0, 3.0, 0)]) + rows_of([(0, 10.0, 0)], combination=1)
    (point,) = panels_of(figure, rows)[""][""].values()
    assert point.sample == [2.0, 10.0]


def test_a_failure_keeps_its_place() -> None:
    figure = Figure("f", "results", "line", "page", ("seconds",), (), ())
    points = panels_of(figure, [ROW | {"page": 0, "seconds": None, "error": "no GPU"}])[""][""]
    assert list(points) == [0]
    assert not known(points)
