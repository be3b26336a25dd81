"""Reports as pages: whole, of any length, true to the run, and safe to open."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py.events import Iteration, PageGroup, Span
from garaph_py.output.history import History
from garaph_py.output.page import beside, page, write_report
from garaph_py.output.recording import Recording, read_recording
from garaph_py.output.stats import Stats
from tests.support.reports import EVIL, Reader

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_pages")


def long_run(count: int, **more: object) -> Stats:
    rows = [
        Iteration(
            k, "pull", 0.5**k, 10, 100, 1, 0, 0.1, "cpu+gpu", 1 << 20, 5, 0.5 + k / 10, f"f <= {EVIL}", 1 / (k + 1)
        )
        for k in range(count)
    ]
    return Stats(History(rows), True, 0.1 * count, 2, **more)


def test_a_report_has_every_iteration(graph: gp.Graph, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    stats = run_with(gp.apps.BFS(0), graph, page_edges=5000, threads=2, report=target).stats
    read = Reader(target.read_text())
    heading, *lines = read.cells
    assert heading[:6] == ["#", "mode", "why", "device", "f", "alpha"]
    assert [line[:4] for line in lines] == [[str(row.number), row.mode, row.why, "cpu"] for row in stats.iterations]
    assert {len(line) for line in lines} == {len(heading)}
    assert read.tags["svg"] == 3  # active vertices, f, and who worked when
    assert read.tags["circle"] == 2 * len(stats.iterations)
    assert "BFS on 3,000 vertices, 40,000 directed edges" in target.read_text()


def test_a_report_says_which_way_pages_took() -> None:
    groups = (
        PageGroup("pull", "gpu", "copied", 1200, 7), PageGroup("pull", "cpu", None, 2, 7),
        PageGroup("notify-pull", "gpu", "copied", 34, 7),
    )  # fmt: skip
    rows = [Iteration(k, "pull", 1.0, 9, 9, 1, 0, 1.0, why="all", groups=each) for k, each in enumerate((groups, ()))]
    text = "\n".join(page("Test", Stats(History(rows), True, 1.0, 2), [], 0.0))
    heading, *lines = Reader(text).cells
    assert [line[heading.index("ways")] for line in lines] == ["1,234 copied, 2 cpu", "-"]


def test_text_from_users_is_escaped() -> None:
    spans = [Span(f"cpu {EVIL}", EVIL, 6 * 10**8, 7 * 10**8, {EVIL: 3})]
    text = "\n".join(page(EVIL, long_run(3, note=EVIL, device=EVIL), spans, 0.0))
    read = Reader(text)
    assert read.tags["script"] == 0
    assert read.tags["svg"] == 4
    assert text.count("&lt;script&gt;") > 5
    assert not re.search(r"""(src|href)=|url\(|@import""", text)


def test_what_stays_of_the_graph_is_said() -> None:
    kept = "".join(page("Test", long_run(1, device_bytes=3 << 20, found_bytes=1 << 20), [], 0.0))
    assert "3.0 MiB of the graph in the GPU&#x27;s memory, 1.0 MiB found there.</p>" in kept
    assert "of the graph" not in "".join(page("Test", long_run(1), [], 0.0))


def test_why_auto_chose_the_device_is_said() -> None:
    assert "<p>Device: expected &lt;3 ms.</p>" in "\n".join(page("Test", long_run(1, why="expected <3 ms"), [], 0.0))
    assert "Device:" not in "\n".join(page("Test", long_run(1), [], 0.0))


def test_the_table_starts_when_the_timeline_does() -> None:
    text = "\n".join(page("Test", long_run(3), [], 0.0))
    heading, *lines = Reader(text).cells
    assert [float(line[heading.index("start, ms")]) for line in lines] == [0, 100, 200]
    assert ">0 ms<" in text


@pytest.mark.full
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


def test_a_page_says_what_was_run(graph: gp.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/garaph", "run", "PageRank", "my <graph>"])
    target = tmp_path / "report.html"
    run_with(gp.apps.PageRank(damping=0.5), graph, iterations=3, threads=2, report=target)
    said = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", target.read_text()))
    assert said["Command"] == "garaph run PageRank &#x27;my &lt;graph&gt;&#x27;"
    assert said["Program"] == "PageRank"
    assert "damping=0.5" in said["Parameters"]
    assert said["Graph"] == "3,000 vertices, 40,000 directed edges"
    assert said["Options"] == "iterations=3, threads=2"
    assert "cores" in said["Machine"] or "1 core," in said["Machine"]
    assert f"garaph_py {gp.__version__}, python 3." in said["Versions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", said["Date"])


def test_the_curve_of_the_total_goes_down(graph: gp.Graph, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    run_with(gp.apps.PageRank(), graph, iterations=6, report=target)
    text = target.read_text()
    assert "<p>Total.dangling by iteration:</p>" in text
    (picture,) = re.findall(r"<p>Total.change by iteration:</p>(<svg.*?</svg>)", text)
    heights = [float(y) for y in re.findall(r'cy="([^"]*)"', picture)]
    assert len(heights) == 6
    assert heights == sorted(heights)  # downwards: y grows towards the bottom


def test_checkpoints_and_other_pauses_are_labelled(graph: gp.Graph, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    with run_with(
        gp.apps.PageRank(), graph, iterations=4, checkpoint=tmp_path / "kept", checkpoint_every=1, report=target
    ):
        text = target.read_text()
    assert re.search(r"<p>Pauses: (\d+ pauses? of [^<]*, )?4 checkpoints of \d.* in all", text)  # a slow machine pauses
    assert re.search(r"<text [^>]*>checkpoint</text>", text)
    rows = [Iteration(k, "pull", 1.0, 9, 9, 1, 0, 1.0, started=started) for k, started in enumerate((0.0, 1.0, 5.0))]
    stats = Stats(History(rows), True, 3.0, 2)
    spans = [Span("pauses", "checkpoint", 2_500_000_000, 3_000_000_000, {})]
    text = "".join(page("Test", stats, spans, 0.0))
    assert "<p>Pauses: 2 pauses of 2.50 s in all, 1 checkpoint of 500 ms.</p>" in text


def test_two_runs_side_by_side(graph: gp.Graph, tmp_path: Path) -> None:
    runs = []
    for name, iterations in (("one", 3), ("two", 5)):
        run_with(gp.apps.PageRank(), graph, iterations=iterations, threads=2, trace=tmp_path / name)
        runs.append(read_recording(tmp_path / name))
    write_report(tmp_path / "both.html", *runs)
    text = (tmp_path / "both.html").read_text()
    read = Reader(text)
    assert read.tags["section"] == 2
    assert read.tags["svg"] == 2 + 2 * 4  # two numbers of the total by time; by iteration, f, and who worked when
    rows = {line[0]: line[1:] for line in read.cells if len(line) == 3}
    assert rows["Options"] == ["iterations=3, threads=2", "iterations=5, threads=2"]
    assert rows["Iterations"] == ["3, not converged", "5, not converged"]
    assert text.count('class="text other">iterations=3') == 1
    assert 'class="text">PageRank<' in text  # what both have is not marked
    assert re.search(r"on the right took [\d.]+ times as long", text)


def test_runs_that_converge_by_other_numbers_are_compared_by_active_vertices() -> None:
    first = Recording("one", long_run(3), totals={k: {"": 1.0} for k in range(3)})
    text = "".join(beside(first, Recording("two", long_run(2))))
    assert "<p>Active vertices, by the seconds of iterations:" in text
    assert "<title>one; two</title>" in text
    empty = Recording(EVIL, long_run(0), facts={"command": EVIL, "options": {EVIL: EVIL}})
    read = Reader("".join(beside(empty, first)))
    assert read.tags["script"] == 0


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_browser_shows_it(graph: gp.Graph, tmp_path: Path) -> None:
    target, picture = tmp_path / "report.html", tmp_path / "report.png"
    run_with(gp.apps.PageRank(), graph, iterations=5, page_edges=5000, threads=2, report=target)
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1280,1200",
    ]  # fmt: skip
    shown = subprocess.run(
        [*command, "--dump-dom", target.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert shown.count("<tr>") == 6
    assert shown.count("<circle") == 3 * 5  # two numbers of the total, and f
    subprocess.run([*command, f"--screenshot={picture}", target.as_uri()], capture_output=True, timeout=120, check=True)
    assert picture.stat().st_size > 10_000
