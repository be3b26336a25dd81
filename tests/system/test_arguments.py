"""Calls with wrong arguments, and paths and listeners of the wrong kind: one error says what to give."""

import inspect

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from tests.support.programs import RING

LISTENERS = {
    "run": lambda path: gp.run(gp.apps.BFS(0), RING, on_event=3),
    "read": lambda path: gp.read(path, on_event=3),
    "open": lambda path: gp.open(path, on_event=3),
    "save": lambda path: gp.save(RING, path, on_event=3),
    "write": lambda path: gp.write(RING, path, on_event=3),
    "from_edges": lambda path: gp.from_edges([0], [1], on_event=3),
    "from_scipy": lambda path: gp.from_scipy(pytest.importorskip("scipy.sparse").eye_array(2), on_event=3),
    "from_csr": lambda path: gp.from_csr([0, 1, 1], [1], on_event=3),
    "rmat": lambda path: gp.rmat(2, on_event=3),
}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda: gp.run(gp.apps.BFS(0), RING, 10),
            "run takes program and graph in order, and all else by name; write iterations=10",
        ),
        (lambda: gp.run(gp.apps.BFS(0)), "run: missing a required argument: 'graph'; see help(gp.run)"),
        (lambda: gp.run(gp.apps.BFS(0), RING, mod="push"), "run has no argument mod; did you mean mode?"),
        (lambda: gp.from_edges([0], [1], weight=[1]), "from_edges has no argument weight; did you mean weights?"),
        (lambda: gp.read("edges.tsv", weight=True), "read has no argument weight; did you mean weights?"),
        (lambda: gp.read("edges.tsv", False), "read takes path in order, and all else by name; write directed=False"),
        (lambda: gp.Options(mod="push"), "Options has no argument mod; did you mean mode?"),
        (lambda: gp.Options("push"), "Options takes all arguments by name; see help(gp.Options)"),
        (
            lambda: gp.algorithms.k_truss(RING),
            "k_truss: missing a required argument: 'k'; see help(gp.algorithms.k_truss)",
        ),
        (
            lambda: gp.check(gp.algorithms.k_core, RING, k=2),
            "check: missing a required argument: 'result'; see help(gp.check)",
        ),
    ],
)
def test_a_call_that_the_signature_does_not_allow(call, problem):
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value) == problem


@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow, gp.from_scipy, gp.from_networkx])
def test_options_that_a_function_passes_on(build):
    with pytest.raises(ParameterError, match=f"^{build.__name__} has no argument weights; "):
        build(None, weights=[1])
    with pytest.raises(ParameterError, match=rf"^{build.__name__} has no argument drop_self_loop; did you mean drop_s"):
        build(None, drop_self_loop=True)


def test_functions_keep_their_signatures_and_documentation():
    assert list(inspect.signature(gp.run).parameters)[:3] == ["program", "graph", "iterations"]
    assert list(inspect.signature(gp.Options).parameters)[:2] == ["engine", "mode"]
    assert gp.run.__doc__.startswith("Run a vertex program")


def test_a_path_is_opened():
    with pytest.raises(ParameterError, match=r"open takes a path, a string or a pathlib\.Path, not Graph"):
        gp.open(RING)


@pytest.mark.parametrize("name", LISTENERS)
def test_a_listener_can_be_called(name, tmp_path):
    path = tmp_path / "g.tsv"
    path.write_text("1\t2\n")
    with pytest.raises(ParameterError, match=r"^on_event=3: give a function of one argument, an event$"):
        LISTENERS[name](path)
    assert path.read_text() == "1\t2\n"


@pytest.mark.parametrize("value", ["no", 2, 0.5, [True]])
def test_flags_are_true_or_false(value):
    graph = gp.from_edges([0, 1], [1, 2])
    with pytest.raises(ParameterError, match=r"normalized=.*: give True or False"):
        gp.algorithms.betweenness_centrality(graph, normalized=value)
    for fine in (True, False, np.True_, None, 0, 1, np.int64(1)):
        gp.algorithms.betweenness_centrality(graph, normalized=fine)


def test_numpys_whole_numbers_are_whole_numbers():
    graph = gp.from_edges([0, 1], [1, 2])
    how = gp.Options(page_edges=np.int64(5))
    assert gp.run(gp.apps.PageRank(), graph, threads=np.int32(1), iterations=np.int8(2), options=how).stats.threads == 1
