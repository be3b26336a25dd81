"""Parents that are carried along with the values."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.program import bind, carry
from garaph_py.runtime import carry_out as running
from tests.support import twins
from tests.support.cases import mostly_full

VALUES = st.one_of(st.integers(-(1 << 31), (1 << 31) - 1), st.sampled_from([-1, 0, 1, carry.LARGEST]))
PARENTS = st.integers(-1, (1 << 32) - 2)


@given(VALUES, PARENTS)
def test_both_are_found_again(value, parent):
    stored = carry.with_parent(np.int32(value), parent)
    assert carry.value_in(stored) == value
    assert carry.parent_in(stored) == (-1 if value == carry.LARGEST else parent)


@given(st.tuples(VALUES, PARENTS), st.tuples(VALUES, PARENTS))
def test_the_order_is_that_of_values_and_then_of_parents(one, other):
    kept = [carry.with_parent(np.int32(value), parent) for value, parent in (one, other)]
    if carry.LARGEST not in (one[0], other[0]):
        assert (kept[0] < kept[1]) == (one < other)


class Hops(gp.VertexProgram):
    """A user's own search."""

    start: gp.VertexId
    value = np.int32
    sum = gp.min
    by_levels = True
    reports = {"hops": np.int32, "parent": gp.VertexId}  # noqa: RUF012

    def init(self, id):
        return 0 if id == self.start else self.identity

    def frontier(self, id):
        return id == self.start

    def gather(self, src):
        return src + 1 if src != self.identity else src

    def result(self, value, parent):
        return value, parent


def test_only_with_the_promise():
    class Other(Hops):
        by_levels = False

    class Asks(Hops):
        def result(self, value):
            return value, -1

    graph = gp.from_edges([0], [1])
    for program, may in (Hops(0), True), (gp.apps.BFS(0), True), (Other(0), False), (Asks(0), False):
        assert carry.may_carry(bind(program, graph)) == may
    assert not carry.may_carry(bind(gp.apps.SSSP(0), graph))


@pytest.mark.spread
@pytest.mark.parametrize(
    "program",
    [Hops(0), pytest.param(gp.apps.BFS(0), marks=pytest.mark.full)],
    ids=lambda program: type(program).__name__,
)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("mode", mostly_full(["pull", "push", "notify-pull"], "push"))
@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "raw"))
def test_the_answer_is_that_of_looking(program, directed, mode, encoding, monkeypatch):
    edges = twins.skewed(4, 400, 2000)
    graph = gp.from_edges(edges.sources, edges.targets, vertices=range(edges.n), directed=directed)
    found = []
    for may in carry.may_carry, lambda bound: False:
        monkeypatch.setattr(running, "may_carry", may)
        options = gp.Options(mode=mode, encoding=encoding)
        found.append(gp.run(program, graph, device="cpu", options=options).values)
        limited = gp.run(program, graph, device="cpu", options=options, iterations=2).values
        found.append(limited)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found[:2], found[2:], strict=True))


def test_a_checkpoint_has_plain_values(tmp_path):
    graph = gp.from_edges(range(6), range(1, 7))
    with gp.run(Hops(0), graph, device="cpu", iterations=3, checkpoint=tmp_path / "kept") as first:
        values = first.values.copy()
        again = gp.run(Hops(0), graph, device="cpu", checkpoint=tmp_path / "kept", resume=True)
    assert values["hops"][:4].tolist() == [0, 1, 2, 3]
    assert again.values["parent"].tolist() == [-1, 0, 1, 2, 3, 4, 5]


def test_the_form_is_part_of_the_key():
    bound = bind(Hops(0), gp.from_edges([0], [1]))
    assert carry.carrying(bound).key != dataclasses.replace(bound).key
