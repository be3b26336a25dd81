"""What a spec says of plots and tables."""

from __future__ import annotations

from typing import Any

import pytest

from garaph_py.errors import ParameterError
from garaph_py.experiment.figure import Reference, figure

TABLES = {"results": {"graph": str, "seconds": float, "edges": int}, "iterations": {"iteration": int, "f": float}}


def read(**keys: Any) -> Any:
    return figure({"x": "graph", "y": "seconds"} | keys, "plots 1", 1, TABLES)


def test_a_plot_has_defaults() -> None:
    found = read()
    assert (found.name, found.table, found.kind, found.y, found.columns) == (
        "plot1", "results", "line", ("seconds",), ("graph",),
    )  # fmt: skip


def test_a_table_may_have_several_columns_and_published_figures() -> None:
    given = {"columns": ["cpu", "Ligra"], "rows": {"twitter": [22, "-"]}, "panel": "PageRank"}
    found = read(kind="table", y=["seconds", "edges"], reference=[given])
    assert found.reference == (Reference("PageRank", ("cpu", "Ligra"), {"twitter": [22.0, None]}),)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"colour": "red"}, "colour"),
        ({"kind": "pie"}, "kind"),
        ({"table": "pages"}, "table"),
        ({"x": "second"}, "x"),
        ({"y": "graph"}, "holds words"),
        ({"y": ["seconds", "edges"]}, "give one column"),
        ({"y": [], "kind": "table"}, "give one column"),
        ({"kind": "table", "by": "graph", "y": ["seconds", "edges"]}, "give one column"),
        ({"kind": "table", "log": "y"}, "log does not go with"),
        ({"reference": []}, "reference does not go with"),
        ({"kind": "bar", "marks": "graph"}, "marks are along lines"),
        ({"correlate": "graph"}, "holds words"),
        ({"kind": "stack", "by": "graph"}, "by does not go with"),
        ({"kind": "stack", "log": "y"}, "log does not go with"),
        ({"kind": "stack", "y": []}, "give one column"),
        ({"kind": "bar", "y": ["seconds", "edges"]}, "only a stack"),
        ({"name": "a/b"}, "without folder"),
        ({"kind": "table", "reference": [{"columns": [], "rows": {}}]}, "give the names"),
        ({"kind": "table", "reference": [{"columns": ["a"], "rows": {"b": [1, 2]}}]}, "give 1 numbers"),
        ({"kind": "table", "reference": [{"columns": ["a"], "rows": {"b": ["x"]}}]}, "give 1 numbers"),
    ],
)
def test_bad_figures_are_refused(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ParameterError, match=f"plots 1.*{why}"):
        read(**keys)
