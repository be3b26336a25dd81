"""A program whose values, total and end are easy to reckon."""

import math

import numpy as np

import garaph_py as gp


class Growth(gp.VertexProgram):
    """Values that grow by 1 in each iteration, their sum, and an end at a given one."""

    end: float = math.inf

    value = np.float64
    total = float
    sum = gp.add

    def init(self):
        return float(0)

    def gather(self, src):
        return src

    def apply(self, old, total):
        return old + 1

    def activate(self, new, old):
        return True

    def aggregate(self, new):
        return new

    def converged(self, total, n):
        return self.end <= total < math.inf


class Wild(Growth):
    """The same, but for a total that becomes infinite, and a value that does not stay so."""

    def aggregate(self, new):
        return math.inf if new == 3 else new
