"""Searches that report the in-neighbour before."""

import numpy as np

from tests.support.numpy_gpu import Lengths, Quiet


class Steps(Quiet):
    """Least number of edges from vertex 0, and the in-neighbour before."""

    reports = {"steps": np.int64, "before": np.int64}  # noqa: RUF012

    def result(self, value, parent):
        return value, parent


class Paths(Steps):
    """The same with edges of any length."""

    gather = Lengths.gather
