"""Links between GPUs, measured on fake ones, and on real ones if there are two."""

import numpy as np
import pytest

from garaph_py.executor.gpu import device, links
from tests.support.numpy_gpu import GRAPH, HUB, Hops


@pytest.mark.parametrize("linked", [True, False])
def test_every_two_gpus_are_measured_once_each_way(devices_for, graph_of, monkeypatch, linked):
    drivers = devices_for(Hops(HUB), graph_of(GRAPH), 3, linked=linked)
    sent = []
    for driver in drivers:
        send = driver.send
        monkeypatch.setattr(
            driver, "send", lambda other, *how, send=send, own=driver: (sent.append((own, other)), send(other, *how))
        )
    clock = iter(np.arange(1000.0))
    monkeypatch.setattr(links.time, "perf_counter", lambda: next(clock))  # every measurement takes a second
    found = links.measure_links([device.find(k) for k in range(3)], 1 << 12)
    assert [(link.first, link.second) for link in found] == [(0, 1), (0, 2), (1, 2)]
    assert all((link.forth, link.back, link.both) == (1 << 12, 1 << 12, 2 << 12) for link in found)
    assert [link.is_direct for link in found] == [linked] * 3
    assert sent.count((drivers[2], drivers[0])) == 2 * (links.REPEATS + 1)
    assert [driver.held for driver in drivers] == [0] * 3


@pytest.mark.gpu
@pytest.mark.skipif(device.count() < 2, reason="needs two GPUs")
def test_real_gpus():
    (link,) = links.measure_links([device.find(k) for k in range(2)])
    assert min(link.forth, link.back) > 1e9
    assert link.both > max(link.forth, link.back)
