"""Simulated runs of a graph in parts, on machines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from garaph_py.errors import ParameterError
from garaph_py.simulation import Activity, simulate
from garaph_py.simulation.parts import COMPUTING, LATENCY, LINK, Network, parts_of, simulate_parts
from garaph_py.simulation.spec import read_spec
from tests.support.command import garaph
from tests.support.simulated import KNOWN, LABELS, MACHINE, SPEC, how, workload

N, M = 1 << 20, 1 << 25
IDLE = Network(1e30, 0.0)
PARTS = "[parts]\ncount = [1, 4]\nbandwidth = 1e9\nlatency = 1e-3\n"


def large(**more):
    return workload(n=N, m=M, page_edges=1 << 16, **{"activities": [Activity(N, M)] * 3} | more)


def played(parts, mirrors=0.0, network=IDLE, **more):
    work = large(**more)
    return simulate_parts(work, KNOWN, how("cpu"), network, parts, mirrors)


def test_one_part_takes_as_long_as_one_machine():
    work = large()
    assert played(1).seconds == pytest.approx(simulate(work, KNOWN, how("cpu")).seconds, rel=0.01)
    assert played(1, network=Network(1.0, 99.0, 99.0)).seconds == played(1).seconds  # it has no messages


def test_each_superstep_of_a_part_is_a_step_by_itself():
    """On one machine, all three iterations of this run are one step."""
    pull, *others = KNOWN.work
    machine = replace(KNOWN, work=(replace(pull, call=0.01), *others))
    work = workload(n=N, m=1 << 20, page_edges=1 << 20, activities=[Activity(N, 1 << 20)] * 3)
    alone, part = (
        [simulate(work, one, how("cpu")).seconds, simulate_parts(work, one, how("cpu"), IDLE, 1, 0.0).seconds]
        for one in (machine, KNOWN)
    )
    assert [later - earlier for later, earlier in zip(alone, part, strict=True)] == pytest.approx([0.01, 0.03])


def test_parts_share_the_edges_and_wait_for_the_slower_of_work_and_messages():
    alone, four = played(1), played(4, N / 4)
    assert alone.seconds / 5 < four.seconds < alone.seconds / 3
    assert four.waits_for == COMPUTING
    slow = played(4, N / 4, Network(1e6, 1e-3))
    (first, *_) = slow.supersteps
    assert first.received == N / 4 * 4
    assert first.exchange == pytest.approx(N / 1e6)
    assert first.seconds == first.exchange + 1e-3
    assert slow.waits_for == LINK
    assert played(4, N / 4, Network(1e12, 1.0)).waits_for == LATENCY
    messages = played(4, N / 4, Network(1e30, 0.0, message=1.0))
    assert messages.supersteps[0].exchange == pytest.approx(3.0)


def test_only_changed_values_are_sent_where_that_is_less():
    few = played(4, N / 4, Network(1e6, 0.0), traits=LABELS, activities=[Activity(N // 64, M // 64)])
    assert few.supersteps[0].received == pytest.approx(N / 4 / 64 * 8)


def test_memory_is_that_of_a_part():
    done = played(4, N / 4)
    assert done.part_bytes == M / 4 * 4 + N / 2 * 24
    assert [done.fits(replace(KNOWN, host_memory=size)) for size in (None, 1 << 20, 1 << 30)] == [True, False, True]


def test_the_gpus_memory_is_that_of_each_part():
    work, options = large(), how("gpu")
    machine = replace(KNOWN, gpu_memory=1 << 30)
    whole = simulate_parts(work, machine, options, IDLE, 4, N / 4 * 3)
    half = simulate_parts(work, machine, options, IDLE, 4, N / 4 * 3, N * 8 + M // 4 * 2)
    assert half.seconds > whole.seconds


@pytest.mark.parametrize(("before", "after", "said"), [
    ("count = [1, 4]\n", "", "count is missing"), ("[1, 4]", "[0]", "count=0"), ("= 1e9", "= 0", "bandwidth=0"),
    ("latency = 1e-3", "latency = -1", "latency=-1"), ("latency =", "latencies =", "latencies"),
    ("= 1e-3", '= 1e-3\nmirrors = "few"', "mirrors='few'"), ("= 1e-3", "= 1e-3\nmirrors = [0.1]", "mirrors=[0.1]"),
    ("= 1e-3", "= 1e-3\nmirrors = [0.1, 2]", "mirrors=2"),
])  # fmt: skip
def test_what_is_wrong_with_parts_is_said(tmp_path, before, after, said):
    (tmp_path / "machine.toml").write_text(MACHINE)
    path = tmp_path / "spec.toml"
    path.write_text(SPEC.replace("[graphs.small]", PARTS + "[graphs.small]"))
    assert read_spec(path).parts.counts == (1, 4)
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ParameterError) as error:
        read_spec(path)
    assert said in str(error.value)


@pytest.mark.parametrize(("given", "shares"), [
    ([0.0, 0.5], [0, 0.5]), ("rmat", [0, None]),
])  # fmt: skip
def test_mirrors(given, shares):
    table = {"count": [1, 4], "bandwidth": 1.0, "latency": 0, "mirrors": given}
    parts, work = parts_of({"parts": table}), large()
    for count, share in zip(parts.counts, shares, strict=True):
        found = parts.mirrors(work, count) / N
        assert 0 < found < 0.75 if share is None else found == pytest.approx(share)


def test_the_command_prints_a_line_for_each_number_of_parts(tmp_path, monkeypatch, capsys):
    (tmp_path / "machine.toml").write_text(MACHINE)
    path = tmp_path / "spec.toml"
    path.write_text(SPEC.replace("[graphs.small]", PARTS + "[graphs.small]"))
    assert garaph(monkeypatch, "simulate", path, "--device", "cpu") == 0
    shown = capsys.readouterr().out
    assert [line.split()[4] for line in shown.splitlines()[1:3]] == ["1", "4"]
    assert garaph(monkeypatch, "simulate", path, "--device", "cpu", "--json") == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["parts"] for run in runs[:2]] == [1, 4]
    assert runs[1]["seconds"] == sum(one["seconds"] for one in runs[1]["supersteps"])
