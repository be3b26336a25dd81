"""The parts of GPUs that differ: in memory, in speed."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.division import divided, within
from garaph_py.executor.gpu.executor import GpuExecutor
from tests.support.numpy_gpu import GRAPH, HUB, Hops, memory_for

from ...support.runs import run_with


@pytest.mark.parametrize(
    ("rates", "rooms", "edges", "expected"),
    [
        ([1, 1], [60, 60], 100, [50, 50]),
        ([1, 1], [30, 80], 100, [30, 70]),
        ([3, 1], [60, 80], 100, [60, 40]),
        ([1, 1, 1, 1], [10, 30, 40, 90], 120, [10, 30, 40, 40]),  # the second is full once the first one is
        ([1, 1, 2], [0, 50, 50], 100, [0, 50, 50]),
        ([1, 2], [50, 50], 70, [70 / 3, 140 / 3]),
        ([1, 2], [30, 30], 100, [1, 2]),  # some edges are streamed anyway
        ([1, 2], [0, 0], 0, [1, 2]),  # there are no edges
    ],
)
def test_nobody_gets_more_than_there_is_room_for(rates, rooms, edges, expected):
    assert within(rates, rooms, edges) == pytest.approx(expected)


@pytest.mark.parametrize(("little", "edges"), [(33_000, 32_000), (32_400, 32_000), (31_800, 30_080)])
def test_memories_count_as_equal_from_nine_tenths(little, edges):
    """So many of 64,000 edges go to the smaller of two GPUs. The other one has memory for 36,000."""
    gpus = [
        SimpleNamespace(
            device=SimpleNamespace(number=-1, multiprocessors=1), settings=SimpleNamespace(deterministic=False),
            placer=SimpleNamespace(room=lambda synchronous, budget: budget), budget=lambda budget=budget: budget,
        )
        for budget in (little, 36_000)
    ]  # fmt: skip
    offsets = np.arange(6401, dtype=np.int64) * 10
    assert divided(gpus, offsets, True, None)[0].last == edges // 10


@pytest.mark.parametrize("small", [0, 1, 2])
def test_a_small_gpu_gets_what_fits(devices_for, graph_of, monkeypatch, small):
    """Others take the rest, so that no GPU streams edges, in the first run already."""
    program, graph, opened = Hops(HUB), graph_of(GRAPH), []
    expected = run_with(program, graph, device="cpu", sync=True).values
    drivers = devices_for(program, graph, 3)
    little = int(memory_for(program, graph, 0.2) / 0.9)
    monkeypatch.setattr(
        type(drivers[small]), "mem_get_info", lambda self: (little if self is drivers[small] else 1 << 26,) * 2
    )
    initialize = GpuExecutor.initialize
    monkeypatch.setattr(GpuExecutor, "initialize", lambda self, *how: opened.append(self) or initialize(self, *how))
    result = run_with(program, graph, device="gpu", gpus=3, sync=True)
    np.testing.assert_array_equal(result.values, expected)
    own = {gpu.device.number: gpu.residency for gpu in opened}
    assert all(each.resident == len(each.pages) for each in own.values())
    assert 0 < own[small].edges < 0.2 * graph.m
    assert sum(each.edges for each in own.values()) == graph.m
    assert device.find(small).free_memory() == little
