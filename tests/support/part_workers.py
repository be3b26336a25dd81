"""Workers that run vertex programs over parts, as objects of this process."""

from __future__ import annotations

from garaph_py.cluster.prepare import hosting
from tests.support.numpy_parts import LocalWorkers


class Workers(LocalWorkers):
    """Workers that run vertex programs."""

    def host(self, address, **prepared):
        return hosting(address, 1, self.call, **prepared)
