"""The model of requests, against one that follows each read of each thread."""

from collections import Counter

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu.requests import LINE, SECTOR, WARP, amplification, count_requests


def requests_of(addresses, width):
    """The requests for elements at these addresses, which are read at one time: by line, adjacent sectors."""
    lines = {}
    for address in addresses:
        lines.setdefault(address // LINE, set()).add(address % LINE // SECTOR)
    assert all(max(sectors) - min(sectors) + 1 == len(sectors) for sectors in lines.values())
    return Counter(SECTOR * len(sectors) for sectors in lines.values())


def followed(begins, ends, how, lead, warps):
    found, cached = Counter(), {}
    for begin, end, warp in zip(begins, ends, [None] * len(ends) if warps is None else warps, strict=True):
        if how.thread_each:
            sectors = {(e + lead) * how.element_bytes // SECTOR for e in range(begin, end)}
            found[SECTOR] += len(sectors)
            continue
        step = LINE // how.element_bytes
        first = (begin + lead) // step * step - lead if how.aligns else begin
        for row in range(first, end, WARP):
            mine = [(e + lead) * how.element_bytes for e in range(max(row, begin), min(row + WARP, end))]
            had = cached.get(warp, set())
            found += requests_of([at for at in mine if at // SECTOR not in had], how.element_bytes)
            if warp is not None:
                cached[warp] = had | {at // SECTOR for at in mine}
    return found


@pytest.mark.spread
@pytest.mark.parametrize("lead", [0, 4])
@pytest.mark.parametrize("switches", [{}, {"align": False}, {"merge": False}])
@pytest.mark.parametrize("element_bytes", [4, 8])
@pytest.mark.parametrize("warps", [None, np.arange(200) // 32], ids=["no cache", "32 lists a warp"])
def test_every_read_of_every_thread(element_bytes, switches, lead, warps):
    how = gp.Emogi(element_bytes=element_bytes, **switches).lists
    rng = np.random.default_rng(1)
    degrees = rng.choice([0, 1, 3, 17, 40, 300], 200)
    ends = np.cumsum(degrees)
    found = count_requests(ends - degrees, ends, how, lead, warps=warps)
    wanted = followed(ends - degrees, ends, how, lead, warps)
    assert {size: count for size, count in found.items() if count} == dict(wanted)


def test_read_amplification_of_an_rmat_graph():
    """Computed before for R-MAT 18: 1.145 with elements of 4 bytes, 1.062 with 8."""
    offsets = gp.rmat(16, 16, directed=False)._arrays.in_edges.offsets
    for width, most in (4, 1.17), (8, 1.08):
        how = gp.Emogi(element_bytes=width).lists
        found = amplification(count_requests(offsets[:-1], offsets[1:], how), width * int(offsets[-1]))
        assert 1.02 < found < most


def test_aligned_reads_are_fewer_and_larger():
    offsets = gp.rmat(14, 16, directed=False)._arrays.in_edges.offsets
    aligned, merged, naive = (
        count_requests(offsets[:-1], offsets[1:], gp.Emogi(**switches).lists)
        for switches in ({}, {"align": False}, {"merge": False})
    )
    assert aligned[128] > merged[128] > naive[128] == 0
    assert sum(aligned.values()) < sum(merged.values()) < sum(naive.values())
