"""On a GPU: offsets of more than 2^32 edges, of which there are none."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.offsets import begins_of, wraps_of
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import bind
from tests.support.degrees import offsets_of

pytestmark = pytest.mark.gpu

FAR = 1 << 32
DEGREES = [3, FAR + 5, 0, FAR - 1, 7, 0, 0, 3 * FAR, 1, FAR - 16, 2]


class Degrees(gp.VertexProgram):
    """Reports how many out-edges a vertex has."""

    value = np.int64
    sum = gp.add

    def init(self):
        return 0

    def gather(self, src):
        return src

    def result(self, value, out_degree):
        return out_degree


def test_kernels_read_offsets_beyond_32_bits():
    degrees = np.tile(np.array(DEGREES, np.int64), 9)
    n, offsets = len(degrees), offsets_of(degrees)
    graph = gp.from_edges([0], [1], vertices=np.arange(n), directed=False)
    with GpuExecutor(bind(Degrees(), graph), graph, devices.find(), Settings()) as made:
        state = made.initialize(True)
        context = made._arrays.context
        with made.device:
            context["out_begins"] = made._kept.memory.upload("more offsets", begins_of(offsets, 2))
        context["wraps"] = wraps_of(int(offsets[-1]))
        np.testing.assert_array_equal(made.report(state), degrees)
