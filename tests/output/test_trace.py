"""Traces and reports: whole, of the right shape, true to the run, and safe to open."""

from __future__ import annotations

import errno
import html.parser
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.events import Iteration, Span
from garaph_py.executor.cpu import runs
from garaph_py.output import draw
from garaph_py.output.page import page
from garaph_py.output.result import Stats
from garaph_py.output.trace import trace_events, tracks_of
from tests.support import twins

EVIL = "</title><script>document.title = 'evil'</script>&\"'\ud800"
VOID = ("meta",)


class Program(gp.VertexProgram):
    value = np.float64
    sum = gp.add

    def init(self):  # type: ignore[no-untyped-def]
        return float(1)

    def gather(self, src):  # type: ignore[no-untyped-def]
        return src


class Reader(html.parser.HTMLParser):
    """Collects texts and checks that what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.cells: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])

    def handle_startendtag(self, tag: str, attributes: object) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1].append(data)


@pytest.fixture(scope="module")
def graph() -> gp.Graph:
    edges = twins.skewed(71, 3000, 40000)
    return gp.from_edges(edges.sources, edges.targets)


@pytest.fixture(autouse=True)
def cut_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MIN_RUN_EDGES", 64)


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


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
def test_a_trace_shows_every_page_of_every_iteration(graph: gp.Graph, tmp_path: Path, threads: int, mode: str) -> None:
    target = tmp_path / "trace.json"
    result = gp.run(gp.apps.PageRank(), graph, iterations=4, threads=threads, page_edges=5000, mode=mode, trace=target)
    events = read_trace(target)
    tracks = by_track(events)
    rows = result.stats.iterations
    assert len(rows) == 4
    assert [event["name"] for event in tracks["iterations"]] == [f"{row.number}: {mode}" for row in rows]
    assert [event["args"]["why"] for event in tracks["iterations"]] == ["as asked"] * 4
    workers = {name: events for name, events in tracks.items() if name != "iterations"}
    assert "cpu 0" in workers
    assert set(workers) <= {f"cpu {k}" for k in range(threads)}
    for mine in tracks.values():
        mine.sort(key=lambda event: event["ts"])
        assert all(event["dur"] >= 0 <= event["ts"] for event in mine)
        assert all(one["ts"] + one["dur"] <= two["ts"] + 0.01 for one, two in itertools.pairwise(mine))
    for row in rows:
        begin, end = row.started * 1e6, (row.started + row.seconds) * 1e6
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
        gp.run(program, graph, iterations=3, mode=mode, trace=tmp_path / mode)
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


def test_nothing_is_noted_unless_asked(graph: gp.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def traced(pool: object) -> None:
        raise AssertionError("nobody asked for a trace")

    monkeypatch.setattr("garaph_py.native.threads.ThreadPool.trace", traced)
    gp.run(gp.apps.PageRank(), graph, iterations=1)


# Reports


def long_run(count: int, **more: object) -> Stats:
    rows = [
        Iteration(
            k, "pull", 0.5**k, 10, 100, 1, 0, 0.1, "cpu+gpu", 1 << 20, 5, 0.5 + k / 10, f"f <= {EVIL}", 1 / (k + 1)
        )
        for k in range(count)
    ]
    return Stats(rows, True, 0.1 * count, 2, **more)


def test_a_report_has_every_iteration(graph: gp.Graph, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    stats = gp.run(gp.apps.BFS(0), graph, page_edges=5000, threads=2, report=target).stats
    read = Reader(target.read_text())
    heading, *lines = read.cells
    assert heading[:6] == ["#", "mode", "why", "device", "f", "alpha"]
    assert [line[:4] for line in lines] == [[str(row.number), row.mode, row.why, "cpu"] for row in stats.iterations]
    assert {len(line) for line in lines} == {len(heading)}
    assert read.tags["svg"] == 2  # f, and who worked when
    assert read.tags["circle"] == len(stats.iterations)
    assert "BFS on 3,000 vertices, 40,000 directed edges" in target.read_text()


def test_what_users_wrote_is_text() -> None:
    spans = [Span(f"cpu {EVIL}", EVIL, 6 * 10**8, 7 * 10**8, {EVIL: 3})]
    text = "\n".join(page(EVIL, long_run(3, note=EVIL, device=EVIL), spans, 0.0))
    read = Reader(text)
    assert read.tags["script"] == 0
    assert read.tags["svg"] == 3
    assert text.count("&lt;script&gt;") > 5
    assert not re.search(r"""(src|href)=|url\(|@import""", text)


@pytest.mark.parametrize("count", [0, 1, 2, 150, 3000])
def test_reports_of_any_length(count: int) -> None:
    spans = [
        Span(f"cpu {k % 2}", "pull", int((0.5 + k / 1000) * 1e9), int((0.5 + (k + 0.9) / 1000) * 1e9), {"page": k})
        for k in range(20 * count)
    ]
    text = "\n".join(page("Test", long_run(count), spans, 0.0))
    read = Reader(text)
    assert len(read.cells) == count + 1
    assert read.tags["rect"] < 6000
    for number in re.findall(r' (?:x|y|[xy][12]|width|height|cx|cy)="([^"]*)"', text):
        assert math.isfinite(float(number))
        assert float(number) >= 0


def test_f_of_zero_stands_at_the_bottom() -> None:
    rows = [Iteration(k, "push", f, 1, 1, 1, 0, 0.1, started=float(k)) for k, f in enumerate((1.0, 0.01, 0.0))]
    heights = [float(y) for y in re.findall(r'cy="([^"]*)"', draw.curve_of(rows, "f"))]
    assert heights == [draw.TOP, draw.TOP + draw.CURVE, draw.TOP + draw.CURVE]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 7), (0.0, 1e-7), (3, 3), (0, 12345), (5, 250000)])
def test_ticks_are_round_and_few(first: float, last: float) -> None:
    found = draw.ticks(first, last)
    assert 1 <= len(found) <= 11
    assert all(first <= tick <= last for tick in found)


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_browser_shows_it(graph: gp.Graph, tmp_path: Path) -> None:
    target, picture = tmp_path / "report.html", tmp_path / "report.png"
    gp.run(gp.apps.PageRank(), graph, iterations=5, page_edges=5000, threads=2, report=target)
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1280,1200",
    ]  # fmt: skip
    shown = subprocess.run(
        [*command, "--dump-dom", target.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert shown.count("<tr>") == 6
    assert shown.count("<circle") == 5
    subprocess.run([*command, f"--screenshot={picture}", target.as_uri()], capture_output=True, timeout=120, check=True)
    assert picture.stat().st_size > 10_000


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
            gp.run(gp.apps.PageRank(), graph, on_event=heard.append, **{name: place})
    assert not heard


def test_two_files_for_two_things(graph: gp.Graph, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="name two files"):
        gp.run(gp.apps.PageRank(), graph, trace=tmp_path / "a", report=str(tmp_path / "." / "a"))


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
        gp.run(gp.apps.PageRank(), graph, iterations=1, **{name: target})
    assert target.read_text() == "yesterday's"
    assert os.listdir(tmp_path) == ["file"]


def test_spans_are_in_the_time_of_the_run(graph: gp.Graph, tmp_path: Path) -> None:
    before = time.perf_counter()
    gp.run(Program(), graph, iterations=2, threads=2, trace=tmp_path / "t", report=tmp_path / "r")
    taken = (time.perf_counter() - before) * 1e6
    spans = [event for event in read_trace(tmp_path / "t") if event["ph"] == "X"]
    assert all(0 <= event["ts"] <= event["ts"] + event["dur"] <= taken for event in spans)
    assert "Program on" in (tmp_path / "r").read_text()
