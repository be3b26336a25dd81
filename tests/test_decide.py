"""The scheduler's decisions by table: pure functions of what was observed."""

from __future__ import annotations

import pytest

from garaph_py.dispatch.decide import AUTO_THRESHOLD, Observation, decide
from garaph_py.kernel import NOTIFY_PULL, PULL


def seen(active_edges: int, engine: str = "garaph", **more: object) -> Observation:
    return Observation(vertices=100, edges=1000, active=10, active_edges=active_edges, engine=engine, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("active_edges", "k", "mode"),
    [
        (0, 1, NOTIFY_PULL),
        (500, 1, NOTIFY_PULL),
        (501, 1, PULL),
        (1000, 1, PULL),
        (50, 10, NOTIFY_PULL),
        (51, 10, PULL),
    ],
)
def test_the_paper_switches_at_one_over_two_k(active_edges: int, k: float, mode: str) -> None:
    assert decide(seen(active_edges, k=k)).mode == mode


def test_auto_switches_earlier() -> None:
    assert decide(seen(int(1000 * AUTO_THRESHOLD), "auto")).mode == NOTIFY_PULL
    assert decide(seen(int(1000 * AUTO_THRESHOLD) + 1, "auto")).mode == PULL


@pytest.mark.parametrize("mode", [PULL, NOTIFY_PULL])
@pytest.mark.parametrize("active_edges", [0, 1000])
def test_a_forced_mode_is_obeyed_and_said(mode: str, active_edges: int) -> None:
    decision = decide(seen(active_edges, forced_mode=mode))
    assert decision.mode == mode
    assert decision.why == "as asked"


def test_f_of_a_graph_without_edges() -> None:
    assert Observation(3, 0, 3, 0, "auto").f == 1
    assert Observation(3, 0, 0, 0, "auto").f == 0
