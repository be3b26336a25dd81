"""Programs whose numbers grow without end."""

import numpy as np

import garaph_py as gp


class Grow(gp.VertexProgram):
    """Each value is `factor` times that of the vertex before."""

    start: gp.PerVertex = 1.0
    factor: float = 1000.0

    value = {"steps": np.int64, "size": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = gp.add
    total = float
    reports = float

    def init(self, start):
        return 0, start

    def gather(self, src):
        return self.factor * src.size

    def apply(self, old, acc):
        return old.steps + 1, acc

    def aggregate(self, new):
        return new.size

    def result(self, value):
        return value.size


class Silent(Grow):
    """Without a total."""

    total = None
    aggregate = None
