"""A GPU that computes nothing, to count what runs read from disk: the sizes of everything are those of a real GPU."""

import types

import numpy as np

from tests.support.numpy_gpu import FakeDriver, FakeFunction


class IdleFunction(FakeFunction):
    """Says of each page that it has activated all vertices."""

    def __call__(self, *_, **__):
        pass

    def prepared_async_call(self, grid, block, stream, told, shared_size=0):
        page = np.frombuffer(bytearray(told), self.driver.layouts.task)[0]["page"]
        if page["tally"]:
            tally = self.tally(page)
            tally["active"] = page["last_vertex"] - page["first_vertex"]
            tally["active_edges"] = page["last_edge"] - page["first_edge"]


class IdleDriver(FakeDriver):
    """Edges are not copied."""

    def mem_alloc(self, nbytes):
        self.next = self.next if self.held else 256  # memory is free again after a run
        return super().mem_alloc(nbytes)

    def memcpy_htod_async(self, place, array, stream=None):
        self.check(place, array.nbytes)

    def module_from_buffer(self, code):
        return types.SimpleNamespace(get_function=lambda name: IdleFunction(self, name))
