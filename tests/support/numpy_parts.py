"""A stand-in for a program that is bound to a part: the least number that reaches a vertex, in NumPy.

It is for tests of `garaph_py.cluster` that need no kernels, on workers that are objects of this process.
"""

from __future__ import annotations

import asyncio

import numpy as np

from garaph_py.cluster.host import ForgottenError, GoneError
from garaph_py.cluster.messages import Changed, decode
from garaph_py.cluster.placing import WorkerFacts
from garaph_py.cluster.plain import pack, unpack
from garaph_py.cluster.worker import Hosting


def least(n, sources, targets):
    """The answer for all vertices, and after how many supersteps no vertex changes."""
    values, steps = np.arange(n), 0
    while True:
        new = values.copy()
        np.minimum.at(new, targets, values[sources])
        if (new == values).all():
            return values, steps
        values, steps = new, steps + 1


class NumpyParts:
    """The edges, cut into parts of equally many destinations, which need so many bytes each; a `placing.Parts`."""

    def __init__(self, n, sources, targets, count, needs=0):
        self._needs = [needs] * count
        self.count, self.cuts = count, np.linspace(0, n, count + 1).astype(np.int64)
        self._sources, self._targets = sources, targets

    def where(self, part):
        """Each part has to be sent."""

    def needs(self):
        return self._needs

    def arrays(self, part):
        first, last = self.cuts[part], self.cuts[part + 1]
        mine = (self._targets >= first) & (self._targets < last)
        numbers = np.union1d(np.arange(first, last), self._sources[mine])
        return {
            "own": np.array([first, last]), "cuts": self.cuts, "numbers": numbers,
            "sources": np.searchsorted(numbers, self._sources[mine]),
            "targets": np.searchsorted(numbers, self._targets[mine]),
        }  # fmt: skip


def places(arrays):
    """The numbers of a part's vertices, and those of its mirrors by the part that owns them."""
    first, last = arrays["own"]
    numbers = arrays["numbers"]
    others = numbers[(numbers < first) | (numbers >= last)]
    owners = np.searchsorted(arrays["cuts"], others, side="right") - 1
    return numbers, {int(owner): others[owners == owner] for owner in np.unique(owners)}


class NumpyRun:
    """One part; a `host.Runs`. It tells the first half of what others mirror before a superstep is done."""

    converged = True

    def __init__(self, part, arrays, sends, columns):
        self._part, self._arrays = part, arrays
        numbers = arrays["numbers"]
        self._own = slice(*np.searchsorted(numbers, arrays["own"]))
        self._sends = {by: np.searchsorted(numbers, which) for by, which in sends.items()}
        self._receives = {owner: np.searchsorted(numbers, which) for owner, which in places(arrays)[1].items()}

    @property
    def state_bytes(self):
        return self._arrays["numbers"].nbytes

    def open(self):
        self._values = self._arrays["numbers"].copy()
        self._changed = np.ones(len(self._values), bool)
        self._told = {}
        return (self._own.stop - self._own.start,)

    def step(self, counts, tell):
        new = self._values.copy()
        np.minimum.at(new, self._arrays["targets"], self._values[self._arrays["sources"]])
        self._changed = np.zeros(len(new), bool)
        self._changed[self._own] = (new != self._values)[self._own]
        self._values[self._own] = new[self._own]
        self._told = {part: len(which) // 2 for part, which in self._sends.items()}
        for part, count in self._told.items():
            tell(part, self._about(self._sends[part][:count], 0))
        return (int(self._changed.sum()),)

    def ends(self, counts, superstep):
        return sum(active for (active,) in counts) == 0

    def outgoing(self, part):
        first = self._told.pop(part, 0)
        return self._about(self._sends.get(part, np.empty(0, np.int64))[first:], first)

    def _about(self, which, first):
        return Changed(self._values[which], self._changed[which], self._changed[which], first)

    def incoming(self, part, message):
        which = self._receives.get(part, np.empty(0, np.int64))
        told = decode(message, len(which), self._values.dtype)
        which = which[message.first : message.last]
        self._values[which[told.changed]] = told.values[told.changed]

    def save(self):
        return {"values": self._values.copy(), "changed": self._changed.copy()}

    def load(self, saved):
        self._values, self._changed = saved["values"].copy(), saved["changed"].copy()
        return (int(self._changed[self._own].sum()),)

    def not_finite(self):
        return ((), (), ())

    def report(self):
        return self._values[self._own]

    def close(self):
        pass


class LocalWorkers:
    """Workers that are objects of this process; a `client.Cluster`. Every message goes through plain data.

    ``after(address, what)``, a coroutine function, is called before each call: it may kill workers.
    """

    def __init__(self, count, make=NumpyRun, after=None):
        self._make, self._after, self._made = make, after, 0
        self.hostings = {}
        self.asked = []
        for _ in range(count):
            self.add()

    def add(self):
        self.hostings[f"worker {self._made}"] = None
        self._made += 1

    def kill(self, address):
        self.hostings.pop(address, None)

    def host(self, address, parts):
        return Hosting(self._make, places, parts, address, self.call)

    async def workers(self):
        return {address: WorkerFacts(0, 1) for address in self.hostings}

    def anew(self):
        """The same workers: one run at a time is enough."""
        return self

    async def call(self, address, what, data):
        if self._after is not None:
            await self._after(address, what)
        if address not in self.hostings:
            await asyncio.sleep(0.01)
            raise GoneError(address)
        self.asked.append(what)
        data = unpack(pack(data))
        if what == "prepare":
            del data["epoch"]
            self.hostings[address] = self.host(address, **data)
            return None
        if self.hostings[address] is None:
            raise ForgottenError(address)
        reply = await self.hostings[address].do(what, data)
        if address not in self.hostings:
            raise GoneError(address)
        return unpack(pack(reply))
