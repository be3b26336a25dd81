"""On a GPU: the tables that it derives from the ranks, beside a slow twin."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import bind
from tests.support.degrees import offsets_of
from tests.support.numpy_gpu import PlainBlend

pytestmark = pytest.mark.gpu

DEGREES = {
    "mixed": np.random.default_rng(1).choice([0, 1, 3, 5000, RUN, 3 * RUN], 300),
    "whole runs": np.full(70, RUN),
    "one hub": np.append(np.zeros(40, int), 100 * RUN + 1),
    "none": np.zeros(50, int),
}


class ReadsDst(PlainBlend):
    """Reads the destination's value, so that the device keeps the list of destinations."""

    def gather(self, src, dst):
        return src + 0 * dst


@pytest.mark.parametrize("name", DEGREES)
def test_tables(name):
    offsets = offsets_of(DEGREES[name])
    n, m = len(offsets) - 1, int(offsets[-1])
    sources = np.random.default_rng(2).integers(0, n, m)
    graph = gp.from_edges(sources, np.repeat(np.arange(n), np.diff(offsets)), vertices=np.arange(n))
    begins = offsets[:-1][np.diff(offsets) > 0]
    expected = {
        "destinations": np.flatnonzero(np.diff(offsets)),
        "run_ranks": np.searchsorted(begins, np.arange(0, max(m, 1), RUN)),
    }
    with GpuExecutor(bind(ReadsDst(1), graph), graph, devices.find(), Settings()) as made:
        made.initialize(True)
        for table, values in expected.items():
            found = np.empty(len(values), np.uint32)
            if found.nbytes:
                with made.device:
                    made.device.driver.memcpy_dtoh(found.view(np.uint8), made.address(table))
            np.testing.assert_array_equal(found, values)
