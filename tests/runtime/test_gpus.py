"""The option `gpus`: what it may be, and how wrong ones are refused before a run begins."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError, ParameterError
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.runtime.gpus import parse_gpus
from garaph_py.runtime.options import RunOptions
from tests.support.command import garaph
from tests.support.numpy_gpu import GRAPH, HUB, Hops
from tests.support.stored_graphs import opened

from ..support.runs import run_with


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None), (2, 2), (np.int64(3), 3), ("all", "all"), ([0, 1], (0, 1)), ((1,), (1,)), (range(2, 4), (2, 3)),
        ("2", 2), ("0,1", (0, 1)), ("1, 3", (1, 3)), (np.arange(2), (0, 1)),
    ],
    ids=repr,
)  # fmt: skip
def test_forms(given, found):
    assert parse_gpus(given) == found
    assert RunOptions(gpus=given).asked_gpus == found


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "", "none", "0,x", "-1", [], [-1], [0.5], [[0]], {0}], ids=repr)
def test_other_forms_are_refused(given):
    with pytest.raises(ParameterError, match=r"^gpus=.*: give how many, such as 2, or 'all', or their numbers"):
        RunOptions(gpus=given)


def test_a_gpu_named_twice_is_refused():
    with pytest.raises(ParameterError, match=r"gpus=\[0, 1, 0\]: a GPU is named twice; name each once"):
        RunOptions(gpus=[0, 1, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cpu", "gpus": 1}, "gpus=1: device='cpu' uses no GPU; leave one of the two out"),
        ({"engine": "emogi", "gpus": 2}, "gpus=2: engine='emogi' uses one GPU; leave one of the two out"),
        ({"debug": True, "gpus": 1}, "debug=True runs the program in plain Python; leave gpus=1 out"),
    ],
    ids=str,
)
def test_options_that_make_no_use_of_them(options, message):
    with pytest.raises(ParameterError) as caught:
        RunOptions(**options)
    assert str(caught.value).startswith(message)
    if options["gpus"] != 1:
        RunOptions(**options | {"gpus": [0]})


def test_edges_on_disk_are_for_one(tmp_path, devices_for, graph_of):
    devices_for(Hops(HUB), graph_of(GRAPH), 2)
    gp.save(gp.rmat(8, directed=False), tmp_path / "g")
    with pytest.raises(ParameterError, match=r"gpus=2: the edges of this graph stay on disk.*; leave gpus out"):
        gp.run(gp.apps.PageRank(), opened(tmp_path / "g", 1 << 20), device="gpu", gpus=2)


@pytest.mark.parametrize("gpus", [2, "all", [1, 0]], ids=str)
def test_edges_on_disk_are_for_one_that_the_run_takes(tmp_path, devices_for, graph_of, gpus):
    program, graph = Hops(HUB), graph_of(GRAPH, weighted=False)
    expected = gp.run(program, graph, device="cpu")
    devices_for(program, graph, 2)
    gp.save(graph, tmp_path / "g")
    stored = opened(tmp_path / "g", 8 << 20)
    assert gp.plan(program, stored, device="hybrid", gpus=gpus).gpus == 1
    result = gp.run(program, stored, device="hybrid", gpus=gpus)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "1 of 2 GPUs: one is as fast as the disk" in result.stats.why


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_card_that_is_not_there(devices_for, graph_of, device):
    program, graph = Hops(HUB), graph_of(GRAPH, weighted=False)
    devices_for(program, graph, 2)
    with pytest.raises(ParameterError, match="gpus=3: the driver sees 2, numbered from 0; ask"):
        gp.run(program, graph, device=device, gpus=3)
    with pytest.raises(ParameterError, match=r"gpus=\(0, 5\): the driver sees 2, numbered from 0"):
        gp.run(program, graph, device=device, gpus=[0, 5])


def test_auto_may_take_the_cpu_whatever_gpus_are_allowed(graph_of):
    graph = graph_of(GRAPH)
    some = gp.run(gp.apps.BFS(0), graph, gpus=2, threads=1)
    assert some.stats.device == "cpu"
    assert some.column("level").tolist() == gp.run(gp.apps.BFS(0), graph, device="cpu").column("level").tolist()


def test_the_command(graph_of, devices_for, monkeypatch, tmp_path, capsys):
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    gp.save(graph, tmp_path / "g")
    asked = []
    monkeypatch.setattr("garaph_py.runtime.run.execute", lambda *how: asked.append(how[2].asked_gpus) or 1 / 0)
    devices_for(Hops(HUB), graph_of(GRAPH), 2)
    for text in ("2", "all", "0,1"):
        with pytest.raises(ZeroDivisionError):
            garaph(monkeypatch, "run", "PageRank", tmp_path / "g", "--device", "gpu", "--gpus", text)
    assert asked == [2, "all", (0, 1)]
    assert garaph(monkeypatch, "run", "PageRank", tmp_path / "g", "--gpus", "two") == 1
    assert "give how many, such as 2" in capsys.readouterr().err
    assert garaph(monkeypatch, "run", "PageRank", tmp_path / "g", "--device", "gpu", "--gpus", "7") != 0
    assert "no GPU 2" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_that_loses_a_gpu_is_no_example_of_several(devices_for, graph_of, monkeypatch, fails):
    program, graph, remembered = Hops(HUB), graph_of(GRAPH), []
    devices_for(program, graph, 2)
    monkeypatch.setattr("garaph_py.runtime.carry_out.remember", lambda *told: remembered.append(told))
    commit = GpuExecutor.commit_pages

    def failing(gpu, *how):
        if fails and gpu.device.number == 1:
            raise DeviceError("GPU 1 is gone; use another")
        commit(gpu, *how)

    monkeypatch.setattr(GpuExecutor, "commit_pages", failing)
    result = run_with(program, graph, device="gpu", gpus=2)
    assert result.stats.device == ("NumPy" if fails else "2 x NumPy")
    assert len(remembered) == (not fails)
