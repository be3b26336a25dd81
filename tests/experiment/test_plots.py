"""What plots say of their medians, and of what was not measured, and where their words are."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from garaph_py import experiment
from garaph_py.experiment.kinds import ITERATIONS
from garaph_py.experiment.plots import plot_of
from garaph_py.experiment.points import Point, Series, caption, panels_of, pooled
from garaph_py.experiment.spec import RESULTS

SPEC = """
repeats = 2
[sweep]
program = ["PageRank", { name = "BFS", source = "random:3" }]
graph = "rmat:6:4"
threads = [1, 2]
device = ["cpu", "gpu"]
iterations = 2
[[plots]]
name = "few"
x = "program"
y = "seconds"
kind = "bar"
by = "device"
[[plots]]
name = "all"
x = "threads"
y = "seconds"
by = ["device", "program"]
[[plots]]
name = "none"
x = "threads_used"
y = "seconds"
panels = "program"
[[plots]]
name = "iterations"
table = "iterations"
x = "iteration"
y = "f"
panels = "program"
"""


@pytest.fixture
def measured(spec_of: Any, no_machine: None, no_gpu: None, tmp_path: Path) -> Any:
    spec = spec_of(SPEC)
    experiment.run(spec, tmp_path / "out")
    tables = experiment.measure.Tables(spec, tmp_path / "out")
    tables.load()
    return spec, tables.rows


def test_settings_that_are_pooled_are_named(measured: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec, rows = measured
    few, every, none, iterations = spec.plots
    assert pooled(few, spec, rows[RESULTS]) == {"threads": "threads (1, 2)", "sources": "3 sources"}
    assert pooled(every, spec, rows[RESULTS]) == {"sources": "3 sources"}
    assert pooled(none, spec, rows[RESULTS]) == {"sources": "3 sources"}  # its x tells the threads apart
    assert pooled(iterations, spec, rows[ITERATIONS]) == {"threads": "threads (1, 2)", "sources": "3 sources"}
    assert caption(few, spec, rows) == [
        "Medians over threads (1, 2) and 3 sources, of the medians of each over 2 repeats.",
        "Intervals: 95% confidence intervals of the median, from order statistics (n = 6); where n is only 2, from the "
        "least to the most, as a 95% interval takes 6.",
        "Not measured: device=gpu: no GPU here; buy one",
    ]
    assert "plot few: its medians are over threads (1, 2) and 3 sources; name threads in x, by or panels" in caplog.text
    caplog.clear()
    caption(every, spec, rows)
    assert not caplog.text


def test_what_was_not_measured_has_its_place(measured: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    spec, rows = measured
    (series,) = panels_of(spec.plots[0], rows[RESULTS]).values()
    counts = {label: {x: sum(map(len, point.values.values())) for x, point in points.items()}
              for label, points in series.items()}  # fmt: skip
    assert counts == {"cpu": {"PageRank": 4, "BFS": 12}, "gpu": {"PageRank": 0, "BFS": 0}}
    assert {x: point.estimate.n for x, point in series["cpu"].items()} == {"PageRank": 2, "BFS": 6}
    for name in ("few", "all", "none", "iterations"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "out" / f"{name}.svg").read_text()[:1000]


def test_a_plot_of_failures_only_is_drawn(spec_of: Any, no_machine: None, no_gpu: None, tmp_path: Path) -> None:
    """Nothing fails as a whole for a missing device."""
    pytest.importorskip("matplotlib")
    spec = """
    [sweep]
    graph = "rmat:6:4"
    program = "PageRank"
    device = "gpu"
    threads = 1
    """
    plots = (
        "x = 'threads'\nlog = 'xy'",
        "x = 'graph'\nkind = 'bar'\nlog = 'y'",
        "x = 'iteration'\ntable = 'iterations'",
    )
    text = spec + "".join(f"\n[[plots]]\ny = 'seconds'\n{plot}" for plot in plots)
    rows = experiment.run(spec_of(text), tmp_path / "out")
    assert {row["error"] for row in rows} == {"no GPU here; buy one"}
    assert len(list((tmp_path / "out").glob("*.png"))) == 3
    drawn = [path.read_text() for path in (tmp_path / "out").glob("*.svg")]
    assert len(drawn) == 3
    for picture in drawn:
        assert "Not measured: no GPU here; buy one" in picture
        assert "Medians" not in picture
        assert "<!-- 0.02 -->" not in picture  # no numbers on an axis without values


def engines(count: int) -> Series:
    return {f"engine {number}": {"BFS": Point({0: [1.0, 2.0]})} for number in range(count)}


@pytest.mark.parametrize("count", [1, 7, 30])
def test_a_legend_is_beside_the_plot(spec_of: Any, count: int) -> None:
    pytest.importorskip("matplotlib")
    drawn = plot_of(spec_of(SPEC).plots[0], {"": engines(count)}, ["caption"])
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    legend, plot, whole = axes.get_legend().get_window_extent(), axes.get_window_extent(), drawn.bbox
    assert plot.x1 <= legend.x0
    assert legend.x1 <= whole.x1
    assert whole.y0 <= legend.y0
    assert plot.width > whole.width / 2  # the legend takes its room from outside


@pytest.mark.parametrize(("counts", "has_legend"), [
    ((3, 3), [False, True]), ((3, 3, 3), [False, True, False]), ((3, 2), [True, True]), ((0, 0), [False, False]),
])  # fmt: skip
def test_plots_with_the_same_legend_share_one(spec_of: Any, counts: tuple[int, ...], has_legend: list[bool]) -> None:
    pytest.importorskip("matplotlib")
    panels = {f"panel {number}": engines(count) for number, count in enumerate(counts)}
    drawn = plot_of(spec_of(SPEC).plots[0], panels, ["caption"])
    drawn.draw_without_rendering()
    legends = [axes.get_legend() for axes in drawn.axes]
    assert [legend is not None for legend in legends] == has_legend
    covered = [legend.get_window_extent() for legend in legends if legend is not None]
    assert not [box for box in covered for axes in drawn.axes if axes.bbox.overlaps(box)]


@pytest.mark.parametrize(("low", "high"), [
    (310.0, 381.0), (2.1e7, 3.7e7), (38_500.0, 435_000.0), (2.9e8, 5.7e9), (1.6, 30.5), (4e5, 1.7e7), (1e-6, 1e6),
])  # fmt: skip
def test_numbers_below_a_logarithmic_axis_do_not_collide(spec_of: Any, low: float, high: float) -> None:
    pytest.importorskip("matplotlib")
    figure = replace(spec_of(SPEC).plots[1], log="x")
    points = {x: Point({0: [1.0, 2.0]}) for x in (low, high)}
    drawn = plot_of(figure, {"": {"a long name of an engine": points}}, ["caption"])
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    first, last = axes.get_xlim()
    numbers = [word for minor in (False, True) for word in axes.get_xticklabels(minor=minor)]
    boxes = [word.get_window_extent() for word in numbers
             if word.get_text() and first <= word.get_position()[0] <= last]  # fmt: skip
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(sorted(boxes, key=lambda box: box.x0)))


def test_words_below_lines_do_not_collide(spec_of: Any) -> None:
    pytest.importorskip("matplotlib")
    figure = replace(spec_of(SPEC).plots[0], kind="line")
    points = {f"the long name of graph {number}": Point({0: [1.0, 2.0]}) for number in range(8)}
    drawn = plot_of(figure, {"": {"cpu": points}}, ["caption"])
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    words = axes.get_xticklabels()
    assert [word.get_text() for word in words] == list(points)
    between = axes.bbox.width / len(words)
    slant = math.radians(words[0].get_rotation())
    assert between * math.sin(slant) > words[0].get_fontsize() * drawn.dpi / 72


def test_values_that_are_marked_are_inside_the_plot(spec_of: Any) -> None:
    """Also at both ends of the line."""
    pytest.importorskip("matplotlib")
    iterations = spec_of(SPEC).plots[-1]
    modes = ["notify-pull", "pull", "pull", "notify-pull"]
    points = {k: Point({0: [1.0, 2.0]}, marks=Counter([mode])) for k, mode in enumerate(modes)}
    drawn = plot_of(iterations, {"": {"auto": points}}, ["caption"])
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    assert [text.get_text() for text in axes.texts] == ["notify-pull", "pull", "notify-pull"]
    boxes, plot = [text.get_window_extent() for text in axes.texts], axes.get_window_extent()
    assert [plot.x0 <= box.x0 <= box.x1 <= plot.x1 for box in boxes] == [True] * 3
