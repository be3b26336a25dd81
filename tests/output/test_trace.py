"""Traces and reports: whole, of the right shape, true to the run, and safe to open."""

from __future__ import annotations

import errno
import itertools
import json
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.events import Iteration, Span
from garaph_py.executor.partitions import PartitionCounts
from garaph_py.output.trace import trace_events, tracks_of

from ..support.cases import mostly_full
from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_pages")


class Program(gp.VertexProgram):
    value = np.float64
    sum = gp.add

    def init(self):  # type: ignore[no-untyped-def]
        return float(1)

    def gather(self, src):  # type: ignore[no-untyped-def]
        return src


def read_trace(path: Path) -> list[dict[str, object]]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(path.read_text(), parse_constant=refuse)["traceEvents"]


def by_track(events: list[dict]) -> dict[str, list[dict]]:
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    (process,) = {event["pid"] for event in events}
    assert [name for number, name in names.items() if number in (0, process)] == ["iterations"]  # the main thread
    found: dict[str, list[dict]] = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            found[names[event["tid"]]].append(event)
    return found


@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", mostly_full(["pull", "notify-pull"], "pull"))
def test_a_trace_shows_every_page_of_every_iteration(graph: gp.Graph, tmp_path: Path, threads: int, mode: str) -> None:
    target = tmp_path / "trace.json"
    result = run_with(
        gp.apps.PageRank(), graph, iterations=4, threads=threads, page_edges=5000, mode=mode, trace=target
    )
    events = read_trace(target)
    tracks = by_track(events)
    rows = result.stats.iterations
    assert len(rows) == 4
    assert [event["name"] for event in tracks["iterations"]] == [f"{row.number}: {mode}" for row in rows]
    assert [event["args"]["why"] for event in tracks["iterations"]] == ["as asked"] * 4
    workers = {name: events for name, events in tracks.items() if name not in ("iterations", "compiler")}
    assert "cpu 0" in workers
    assert set(workers) <= {f"cpu {k}" for k in range(threads)}
    for mine in tracks.values():
        mine.sort(key=lambda event: event["ts"])
        assert all(event["dur"] >= 0 <= event["ts"] for event in mine)
        assert all(one["ts"] + one["dur"] <= two["ts"] + 0.01 for one, two in itertools.pairwise(mine))
    for row in rows:
        begin, end = row.started * 1e6, row.ended * 1e6
        inside = [event for mine in workers.values() for event in mine if begin <= event["ts"] <= end]
        pages = {(event["args"]["page"], event["args"]["edges"]) for event in inside if "page" in event["args"]}
        assert len(pages) == row.pages >= 8
        assert sum(edges for _, edges in pages) == graph.m
        assert {"page"} - {name for event in inside for name in event["args"]} == set()
    counters = [event for event in events if event["ph"] == "C"]
    assert Counter(event["name"] for event in counters) == {"f": 4, "active vertices": 4}
    assert [event["args"]["f"] for event in counters if event["name"] == "f"] == [row.f for row in rows]


def test_modes_that_are_not_by_pages_are_in_the_trace_too(graph: gp.Graph, tmp_path: Path) -> None:
    for mode, program in (("push", gp.apps.BFS(0)), ("pull-tiled", gp.apps.PageRank())):
        run_with(program, graph, iterations=3, mode=mode, trace=tmp_path / mode)
        names = {event["name"] for event in by_track(read_trace(tmp_path / mode))["cpu 0"]}
        assert mode.replace("-", "_") in names


def test_the_order_of_tracks_and_alpha() -> None:
    tracks = ["disk nvme0", "copy to host", "stream 10", "stream 2", "copy to device", "cpu 11", "cpu 2", "cpu 0"]
    spans = [Span(track, "work", 5, 6, {}) for track in tracks]
    assert tracks_of(spans) == [
        "cpu 0", "cpu 2", "cpu 11", "stream 2", "stream 10", "copy to device", "copy to host", "disk nvme0",
    ]  # fmt: skip
    rows = [Iteration(0, "pull", 1.0, 9, 100, 1, 0, 0.1, "cpu+gpu", started=2.0, alpha=0.75)]
    (alpha,) = [event for event in trace_events("", rows, spans, 0.0) if event["name"] == "alpha"]
    assert (alpha["ph"], alpha["ts"], alpha["args"]) == ("C", 2e6, {"alpha": 0.75})


def test_what_an_engine_knew_of_partitions_is_in_the_trace() -> None:
    counts = PartitionCounts(
        *(np.array([one, 2 * one]) for one in (9, 1, 3, 2)), 8, np.array([0.5, np.inf], np.float32)
    )
    record = Iteration(0, "push", 0.1, 3, 9, 2, 0, 0.5, "gpu", partitions=counts)
    (details,) = [event["args"] for event in trace_events("", [record], [], 0.0) if event["ph"] == "X"]
    found = json.loads(json.dumps(details["partitions"], allow_nan=False))
    assert (found["edges"], found["requests"]) == ([9, 18], [2, 4])
    assert (found["active_vertices"], found["active_edges"], found["edge_bytes"]) == ([1, 2], [3, 6], 8)
    assert found["change"][0] == 0.5
    without = trace_events("", [record._replace(partitions=None)], [], 0.0)
    assert not any("partitions" in event["args"] for event in without)


def test_spans_are_recorded_only_on_request(graph: gp.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def traced(pool: object) -> None:
        raise AssertionError("nobody asked for a trace")

    monkeypatch.setattr("garaph_py.native.threads.ThreadPool.trace", traced)
    gp.run(gp.apps.PageRank(), graph, iterations=1)


# Files


@pytest.mark.parametrize("name", ["trace", "report"])
def test_a_place_that_cannot_be_written_is_found_before_the_run(graph: gp.Graph, tmp_path: Path, name: str) -> None:
    heard: list[object] = []
    for place, problem in (
        (tmp_path / "nowhere" / "file", "there is no directory"),
        (tmp_path, "is a directory"),
        (7, "give the name of a file"),
    ):
        with pytest.raises(ParameterError, match=f"^{name}.*{problem}"):
            run_with(gp.apps.PageRank(), graph, on_event=heard.append, **{name: place})
    assert not heard


def test_two_files_for_two_things(graph: gp.Graph, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="name two files"):
        run_with(gp.apps.PageRank(), graph, trace=tmp_path / "a", report=str(tmp_path / "." / "a"))


@pytest.mark.parametrize("name", ["trace", "report"])
def test_nothing_half_written_is_left(
    graph: gp.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target = tmp_path / "file"
    target.write_text("yesterday's")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match="nothing was written"):
        run_with(gp.apps.PageRank(), graph, iterations=1, **{name: target})
    assert target.read_text() == "yesterday's"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.full
def test_spans_are_in_the_time_of_the_run(graph: gp.Graph, tmp_path: Path) -> None:
    before = time.perf_counter()
    run_with(Program(), graph, iterations=2, threads=2, trace=tmp_path / "t", report=tmp_path / "r")
    taken = (time.perf_counter() - before) * 1e6
    spans = [event for event in read_trace(tmp_path / "t") if event["ph"] == "X"]
    assert all(0 <= event["ts"] <= event["ts"] + event["dur"] <= taken for event in spans)
    assert "Program on" in (tmp_path / "r").read_text()
