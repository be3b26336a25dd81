"""Progress is shown in a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

import garaph_py as gp
from garaph_py.events import Iteration, Step
from garaph_py.output.progress import amount


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with gp.Progress() as progress:
        progress(Step("reading", 1, 2))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_shows_steps_and_iterations(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with gp.Progress(quiet) as progress:
        progress(Step("reading", 5_000_000, 80_000_000))
        progress(Step("[red]a\x1b[2J\nb", 1, 2))
        progress(Iteration(3, "pull", 1.0, 1234, 1_000_000, 1, 0, 0.01))
    shown = terminal.getvalue()
    assert ("reading" in shown) is not quiet
    assert (r"[red]a\x1b[2J\nb" in shown) is not quiet
    assert ("1,234 active, 100 M edges/s" in shown) is not quiet


def test_events_arrive_in_order() -> None:
    seen: list[object] = []
    graph = gp.from_edges([0, 1, 2], [1, 2, 0], on_event=seen.append)
    result = gp.run(gp.apps.BFS(0), graph, on_event=seen.append)
    iterations = [event for event in seen if isinstance(event, Iteration)]
    assert iterations == result.stats.iterations
    steps = [event for event in seen if isinstance(event, Step) and event.name == "sorting edges"]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total


def test_amounts() -> None:
    assert amount(12_000_000, 80_000_000, "bytes", 2.0) == "12.0 of 80.0 MB, 6.00 MB/s"
    assert amount(3, 7, "functions", 2.0) == "3 of 7 functions"
    assert amount(5_000_000, 0, "edges", 0) == "5.00 M edges"
