"""Renumbering by degree changes internal ids, and no answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.graph.order import vertex_order

degrees = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60)


@given(degrees)
def test_degree_order_descends_and_is_stable(pairs: list[tuple[int, int]]) -> None:
    out, into = np.array(pairs, np.int64).T
    old = vertex_order("degree", out, into)
    assert old.tolist() == sorted(range(len(out)), key=lambda v: -out[v])


def test_degrees_too_large_to_be_sorted_beside_their_vertices() -> None:
    out = np.array([3, 2**62, 5, 2**62, 0], np.int64)
    assert vertex_order("degree", out, out).tolist() == [1, 3, 2, 0, 4]


@given(degrees)
def test_hubs_come_first_and_the_others_stay(pairs: list[tuple[int, int]]) -> None:
    out, into = np.array(pairs, np.int64).T
    old = vertex_order("hub", out, into).tolist()
    count = -(-8 * len(out) // 100)
    assert sorted(old) == list(range(len(out)))
    assert old[count:] == sorted(old[count:])
    h = out * into / max(out.max() * into.max(), 1)
    assert old[:count] == sorted(range(len(out)), key=lambda v: -h[v])[:count]


def test_eight_vertices_of_a_hundred_are_hubs() -> None:
    degrees = np.arange(100)
    assert vertex_order("hub", degrees, degrees).tolist() == [*range(99, 91, -1), *range(92)]


@pytest.mark.spread
@pytest.mark.parametrize("kind", ["range", "integer", "string"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("order", ["degree", "hub"])
def test_answers_stay_in_the_users_ids(kind: str, directed: bool, order: str, tmp_path) -> None:
    generator = np.random.default_rng(3)
    ends = generator.zipf(1.5, (2, 400)) % 40
    if kind == "integer":
        ends = ends * 10**12
    elif kind == "string":
        ends = np.array([f"v{v}" for v in ends.ravel()], object).reshape(2, -1)
    plain, ordered = (gp.from_edges(*ends, directed=directed, order=name) for name in ("none", order))
    source = plain.ids.take(np.array([3]))[0]
    for graph in (plain, ordered):
        gp.save(graph, tmp_path / str(graph is plain))
    answers = []
    for graph in (plain, ordered, gp.open(tmp_path / "False")):
        result = gp.run(gp.apps.BFS(source), graph, verify=True)
        answers.append(dict(zip(result.ids.tolist(), result.column("level").tolist(), strict=True)))
    assert answers[0] == answers[1] == answers[2]
    if order == "degree":
        assert (np.diff(ordered.out_degrees) <= 0).all()


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ParameterError, match="order='size'"):
        gp.from_edges([0], [1], order="size")
