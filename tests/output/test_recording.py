"""A report from a trace is that of the run; traces that are none end in one typed error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import garaph_py as gp
from garaph_py.errors import FormatError
from garaph_py.output.page import write_report
from garaph_py.output.recording import command, read_recording

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_pages")


@pytest.fixture
def trace(graph: gp.Graph, tmp_path: Path) -> Path:
    run_with(
        gp.apps.PageRank(), graph, iterations=3, page_edges=5000, threads=2, trace=tmp_path / "run.json",
        report=tmp_path / "run.html",
    )  # fmt: skip
    return tmp_path / "run.json"


def test_a_report_from_a_trace_is_that_of_the_run(trace: Path, tmp_path: Path) -> None:
    """Times in a trace have a resolution of a nanosecond, which moves nothing that one sees."""
    run = read_recording(trace)
    assert len(run.stats.iterations) == 3
    assert {(group.way, group.pages) for row in run.stats.iterations for group in row.groups} == {("cpu", 9)}
    assert list(run.totals) == [0, 1, 2]
    write_report(tmp_path / "again.html", run)
    first, again = ((tmp_path / name).read_text() for name in ("run.html", "again.html"))
    assert len(first) == pytest.approx(len(again), abs=50)
    assert first.count("<rect") == again.count("<rect")
    assert first[: first.index("<h2>Who")] == again[: again.index("<h2>Who")]


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"otherData": {}, "traceEvents": 3}', "\0", "NaN"])
def test_what_is_no_trace_is_a_typed_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(
        FormatError, match=r"run\.json: is .*; (write one by `garaph run --trace`|record the run again)"
    ):
        read_recording(tmp_path / "run.json")
    with pytest.raises(FormatError, match="no such file; did you mean"):
        read_recording(tmp_path / "rum.json")
    with pytest.raises(FormatError, match="is a directory; name a file"):
        read_recording(tmp_path)


def damaged(document: Any, place: tuple[Any, ...], value: Any) -> str:
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(("place", "value"), [
    (("otherData", "stats"), 3), (("otherData", "stats", "seconds"), "long"), (("otherData", "machine"), "mine"),
    (("otherData", "totals"), [[1, {"": float("nan")}]]), (("otherData", "totals"), [[1, 2, 3]]),
    (("otherData", "parameters"), 7), (("otherData", "stats", "threads"), float("inf")), (("traceEvents",), [3]),
    (("traceEvents",), []), (("otherData", "stats", "placing"), None),
])  # fmt: skip
def test_a_damaged_trace_is_a_typed_error(trace: Path, place: tuple[Any, ...], value: Any) -> None:
    trace.write_text(damaged(json.loads(trace.read_text()), place, value))
    with pytest.raises(FormatError, match=r"is not a trace of garaph; write one"):
        read_recording(trace)


@pytest.mark.parametrize("groups", [3, [3], [{}], [{"mode": "pull", "device": "gpu", "transfer": None, "pages": "x"}]])
def test_damaged_groups_of_pages_are_a_typed_error(trace: Path, groups: Any) -> None:
    document = json.loads(trace.read_text())
    next(event for event in document["traceEvents"] if event["ph"] == "X")["args"]["groups"] = groups
    trace.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"is not a trace of garaph; write one"):
        read_recording(trace)


def test_traces_of_earlier_versions_are_told_apart(trace: Path) -> None:
    document = json.loads(trace.read_text())
    del document["otherData"]["stats"]
    trace.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="is a trace of an earlier version, which lacks data; record the run"):
        read_recording(trace)


@pytest.mark.parametrize(("arguments", "said"), [
    (["/usr/bin/garaph", "run", "a b"], "garaph run 'a b'"), ([""], None), ([], None), (["-c", "x"], None),
    (["/lib/garaph_py/__main__.py", "run"], "garaph run"), (["mine.py", "1"], "python mine.py 1"),
])  # fmt: skip
def test_the_command_is_as_it_was_typed(arguments: list[str], said: str | None) -> None:
    assert command(arguments) == said
