"""Options are checked when they are made, and against the program and the graph."""

import dataclasses
import inspect

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.runtime import options as options_
from garaph_py.runtime.options import RunOptions, check_run_options


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"resume": True}, r"resume=True needs checkpoint=DIR \(--checkpoint DIR\)"),
        ({"checkpoint_every": 3}, r"checkpoint_every=3 needs checkpoint=DIR \(--checkpoint DIR\)"),
        ({"sync": "no"}, "sync='no': give True or False"),
        ({"deterministic": "yes"}, "deterministic='yes': give True or False"),
        ({"verify": None}, "verify=None: give True or False"),
        ({"debug": 0}, "debug=0: give True or False"),
        ({"resume": "no"}, "resume='no': give True or False"),
        ({"deterministic": np.True_, "sync": np.False_}, "needs a synchronous run"),
        ({"checkpoint": "c", "checkpoint_every": "soon"}, "checkpoint_every='soon'"),
        ({"deterministic": True, "sync": False}, "needs a synchronous run"),
        ({"deterministic": True, "device": "hybrid"}, "leave device='hybrid' out"),
        ({"engine": "garaph", "mode": "push"}, "mode='push' is not in the paper"),
        ({"device": "gpu", "mode": "pull-tiled"}, "is for the CPU only"),
        ({"encoding": "zip"}, "encoding='zip': choose from auto, raw, packed"),
    ],
    ids=str,
)
def test_options_are_checked_when_they_are_made(options, problem):
    with pytest.raises(gp.errors.ParameterError, match=problem):
        RunOptions(**options)


def test_options_have_the_defaults_of_run():
    defaults = {name: field.default for name, field in RunOptions.__dataclass_fields__.items()}
    of_run = inspect.signature(gp.run).parameters
    front = set(defaults) - {field.name for field in dataclasses.fields(gp.Options)}
    assert {name: defaults[name] for name in front} == {name: of_run[name].default for name in front}
    assert set(of_run) - front == {"program", "graph", "options", "on_event", "cluster"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"mode": "push"}, r"run has no argument mode; write options=gp\.Options\(mode=\.\.\.\)$"),
        ({"itertions": 3}, r"run has no argument itertions; did you mean iterations\?$"),
        ({"shade": "red"}, r"run has no argument shade; see help\(gp\.run\)$"),
        ({"options": {"mode": "push"}}, r"options=\{'mode': 'push'\}: write options=gp\.Options\(\.\.\.\)$"),
    ],
)
def test_an_argument_in_the_wrong_place(given, problem):
    with pytest.raises(gp.errors.ParameterError, match=problem):
        gp.run(gp.apps.BFS(0), gp.from_edges([0], [1]), **given)


@pytest.mark.parametrize(
    ("program", "options", "problem"),
    [
        (gp.apps.PageRank(), {"mode": "push"}, "PageRank cannot push"),
        (gp.apps.PageRank(), {"mode": "pull-tiled", "sync": False}, "or the run is asynchronous"),
        (gp.apps.PageRank(), {"gather": "replicated", "encoding": "packed"}, "these are packed"),
    ],
    ids=str,
)
def test_options_are_checked_against_program_and_graph(graph, program, options, problem):
    with pytest.raises(gp.errors.ParameterError, match=problem):
        check_run_options(RunOptions(**options), bind(program, graph), graph)


def test_sums_that_no_atomic_takes(graph, monkeypatch):
    monkeypatch.setattr(options_, "can_replicate", lambda bound: False)
    bound = bind(gp.apps.PageRank(), graph)
    with pytest.raises(gp.errors.ParameterError, match="no atomic operation can update the sums of PageRank"):
        check_run_options(RunOptions(gather="replicated"), bound, graph)
