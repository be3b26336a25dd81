"""Tables beside published figures."""

from __future__ import annotations

from collections import Counter

from garaph_py.experiment.figure import Figure, Reference
from garaph_py.experiment.grid import grids_of, markdown
from garaph_py.experiment.points import Point


def test_published_figures_follow_the_measured_ones() -> None:
    reference = Reference("PageRank", ("cpu", "Ligra"), {"twitter (paper)": [22.4, None]})
    figure = Figure(
        "table", "results", "table", "graph", ("seconds",), ("device",), ("program",), reference=(reference,)
    )
    points = {"rmat": Point({0: [1.0, 2.0, 3.0]}, Counter(rmat=3))}
    panels = {"PageRank": {"cpu": points, "gpu": {"rmat": Point()}}, "BFS": {"cpu": points}}
    first, second = grids_of(figure, panels)
    assert first.heads == ["graph", "cpu", "gpu", "Ligra"]
    assert first.rows == [["rmat", "2 [1, 3]", "not measured", ""], ["twitter (paper)", "22.4", "", "-"]]
    assert second.rows == [["rmat", "2 [1, 3]"]]
    text = markdown([first], ["A caption."])
    assert text.startswith("**PageRank**\n\n| graph | cpu | gpu | Ligra |\n| --- | ---: | ---: | ---: |\n| rmat |")
    assert text.endswith("\n\nA caption.\n")


def test_a_panel_of_published_figures_alone() -> None:
    figure = Figure("t", "results", "table", "graph", ("seconds",), (), ("program",),
                    reference=(Reference("SSSP", ("cpu",), {"twitter": [1.0]}),))  # fmt: skip
    (grid,) = grids_of(figure, {})
    assert (grid.title, grid.rows) == ("SSSP", [["twitter", "1"]])
