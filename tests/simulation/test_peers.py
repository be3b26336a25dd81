"""The tables ``[gpus]`` of machines and specs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.errors import ParameterError
from garaph_py.simulation import read_machine, write_machine
from garaph_py.simulation.machine import machine_of
from garaph_py.simulation.peers import TWO_H200S, Gpus, Peers
from tests.support.command import garaph
from tests.support.simulated import KNOWN, MACHINE

SPEC = """machine = "machine.toml"
device = "gpu"
[gpus]
count = 2
[graphs.small]
vertices = 1_000
edges = 16_000
[[runs]]
graph = "small"
program = "PageRank"
"""


def test_a_machine_keeps_what_its_gpus_cost_each_other(tmp_path):
    machine = replace(KNOWN, peers=Peers(1e11, 1e-5, 2e-5, assumed=("received", "joined")))
    write_machine(machine, tmp_path / "machine.toml")
    assert read_machine(tmp_path / "machine.toml") == machine


@pytest.mark.parametrize(("given", "said"), [
    ("[gpus]\nturn = 1e-5\n", "gpus: bandwidth is missing"), ("[gpus]\nbandwidth = 0\n", "gpus: bandwidth=0"),
    ("[gpus]\nbandwidth = 1\ncount = 2\n", "gpus: there is no 'count'"),
    ("[gpus]\nbandwidth = 1\nassumed = ['copies']\n", "gpus: assumed='copies'"),
])  # fmt: skip
def test_what_is_wrong_with_a_machine_s_gpus_is_said(tmp_path, given, said):
    (tmp_path / "machine.toml").write_text(MACHINE.replace("[link]", given + "[link]"))
    with pytest.raises(ParameterError) as error:
        read_machine(tmp_path / "machine.toml")
    assert said in str(error.value)


def test_costs_of_several_gpus_need_one():
    with pytest.raises(ParameterError, match="costs of several GPUs; add gpu_memory"):
        machine_of({"cores": 1, "gpus": {"bandwidth": 1.0}, "work": [{"processor": "cpu", "edge": 1.0}]})


def test_a_spec_replaces_single_costs_of_the_machine():
    found = Gpus((2,), {"turn": 1.0}).on(TWO_H200S)
    assert found == replace(TWO_H200S, turn=1.0, assumed=("bandwidth", "copy", "received", "joined"))
    assert Gpus((2,), {"turn": 1.0}).on(None) == found
    assert Gpus((2,), {"turn": 1.0}).on(Peers(1e9)) == Peers(1e9, 1.0)


def test_a_simulation_says_which_costs_were_not_measured(tmp_path, monkeypatch, capsys):
    (tmp_path / "spec.toml").write_text(SPEC)
    table = "[gpus]\nbandwidth = 1e9\ncopy = 1e-3\nassumed = ['joined', 'copy']\n"
    (tmp_path / "machine.toml").write_text(MACHINE.replace("[link]", table + "[link]"))
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml") == 0
    assert "several GPUs: joined, copy: not measured; as of two H200s" in capsys.readouterr().out
    (tmp_path / "machine.toml").write_text(MACHINE)
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml") == 0
    said = "several GPUs: bandwidth, turn, copy, received, joined: not measured; as of two H200s"
    assert said in capsys.readouterr().out
