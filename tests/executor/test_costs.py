"""One record of expected costs, with which all who decide begin."""

import types
from dataclasses import replace

import pytest

from garaph_py.dispatch import observation, policy, rates
from garaph_py.executor import protocol
from garaph_py.executor.costs import EXPECTED, Costs
from garaph_py.executor.gpu import push_cost
from garaph_py.executor.gpu.residency import Residency
from garaph_py.pages.layout import Page


def test_a_pushed_edge_in_pulled_edges():
    assert EXPECTED.push_edge == pytest.approx(1 / 0.44)  # where both took equally long
    assert Costs(gpu=6.0, push=2.0).push_edge == 3


def test_all_use_the_same_record():
    assert all(module.EXPECTED is EXPECTED for module in (rates, policy, observation, protocol, push_cost))


def test_a_slower_link_slows_copies_down_alone_and_beside_the_cpu(monkeypatch):
    placed = types.SimpleNamespace(
        residency=Residency([Page(k, 0, 0, 100 * k, 100 * (k + 1)) for k in range(4)], 1, 0, 0, 0), in_place=False,
        numbering=types.SimpleNamespace(arrays=types.SimpleNamespace(m=400)), is_resident=False, mapped=None,
        pushes_from_disk=False, keeps_sums=False, memory=types.SimpleNamespace(arrays={"values": EXPECTED.cache + 1}),
        edges=types.SimpleNamespace(arrays=types.SimpleNamespace(width=4.0)), out_edges=None,
    )  # fmt: skip
    for link in 5e10, 5e9:
        for module in rates, push_cost:
            monkeypatch.setattr(module, "EXPECTED", replace(EXPECTED, link=link))
        copied = rates.Rates.expected(1, 400, 300, 4.0, True).copied
        assert copied == link / 4
        cost = push_cost.push_cost(placed)
        assert cost == pytest.approx(400 / EXPECTED.push / (400 / 1e11 + 300 / copied))
