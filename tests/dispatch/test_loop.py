"""The loop: what the record of an iteration says of its pages."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.loop import has_converged
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import ProgramError
from garaph_py.events import PageGroup
from tests.support.numpy_gpu import GRAPH, HUB, Hops, memory_for

from ..support.runs import run_with


@pytest.mark.slow
def test_a_record_shows_how_pages_were_processed(graph_of):
    result = run_with(gp.apps.PageRank(), graph_of(GRAPH), device="cpu", iterations=2, page_edges=8000)
    for row in result.stats.iterations:
        assert row.groups == (PageGroup(row.mode, "cpu", None, row.pages, row.edges),)


@pytest.mark.parametrize("helps", [True, False])
def test_a_record_shows_who_processed_which_pages(device_for, graph_of, monkeypatch, helps):
    graph, program = graph_of(GRAPH), Hops(HUB)
    device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: waiting)
    memory = memory_for(program, graph, 0.5)
    how = {"gather": "segmented", "page_edges": 3000, "streams": 3, "gpu_memory": memory}
    rows = run_with(program, graph, device="hybrid", **how).stats.iterations
    for row in rows:
        assert sum(group.pages for group in row.groups) == row.pages
        assert sum(group.edges for group in row.groups) == row.edges
        assert all(group.mode == "pull" for group in row.groups)
        assert all((group.device == "gpu") == (group.transfer in ("resident", "copied")) for group in row.groups)
        assert helps or {group.device for group in row.groups} == {"gpu"}
    assert any(group.transfer == "resident" for row in rows for group in row.groups)
    assert any(group.transfer == "copied" for row in rows for group in row.groups)


@pytest.mark.parametrize("answer", [True, False, np.True_, np.False_])
def test_converged_returns_a_truth_value(answer):
    assert has_converged(program_with(answer), np.array([3]), 5) is bool(answer)
    assert not has_converged(program_with(answer), None, 5)


@pytest.mark.parametrize("answer", [None, 0, 1.5, "no"])
def test_another_answer_of_converged_is_refused(answer):
    with pytest.raises(ProgramError, match=f"Hops.converged returns {answer!r}; return True to end the run"):
        has_converged(program_with(answer), np.array([3]), 5)


def program_with(answer):
    """A program whose `converged` returns `answer`."""
    program = Hops(HUB)
    program.converged = lambda total, n: answer
    return program
