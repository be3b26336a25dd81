"""Workers that run vertex programs over parts, as objects of this process."""

from __future__ import annotations

from garaph_py.cluster.prepare import hosting
from garaph_py.cluster.reading import PartReader
from tests.support.numpy_parts import LocalWorkers


class Workers(LocalWorkers):
    """Workers that run vertex programs. Each has a `limit` on its memory, and its disk at `folder`."""

    limit, folder = 0, None

    def host(self, address, **prepared):
        return hosting(PartReader(address, 1, self.limit, self.folder), self.call, **prepared)
