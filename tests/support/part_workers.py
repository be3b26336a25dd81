"""Workers that run vertex programs over parts, as objects of this process."""

from __future__ import annotations

import time

from garaph_py.cluster.prepare import hosting
from garaph_py.cluster.reading import PartReader
from garaph_py.graph.part import Part
from tests.support.numpy_parts import LocalWorkers


class Workers(LocalWorkers):
    """Workers that run vertex programs. Each has a `limit` on its memory, and its disk at `folder`."""

    limit, folder = 0, None

    def host(self, address, **prepared):
        return hosting(PartReader(address, 1, self.limit, self.folder), self.call, **prepared)


class SlowWorkers(Workers):
    """Workers that take so many seconds longer over an edge in each superstep, by address; those may change."""

    def __init__(self, count, paces, after=None):
        super().__init__(count, after=after)
        self.paces = paces

    def host(self, address, **prepared):
        hosting = super().host(address, **prepared)
        make = hosting._make

        def slow(part, content, sends, columns):
            run = make(part, content, sends, columns)
            step, edges = run.step, content.graph.m if isinstance(content, Part) else len(content["sources"])

            def slowly(counts, tell):
                time.sleep(self.paces.get(address, 0.0) * edges)
                return step(counts, tell)

            run.step = slowly
            return run

        hosting._make = slow
        return hosting
