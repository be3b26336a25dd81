"""Iterations that one step repeats: a program whose totals are seen, and what each step did."""

import pytest

from garaph_py.executor import repeat
from garaph_py.executor.cpu import executor as on_cpu
from garaph_py.executor.gpu import executor as on_gpu
from garaph_py.executor.gpu import multi_gpu
from tests.support.numpy_gpu import SummedBlend

SEEN = []
"""The totals that `Counted` was asked about."""


class Counted(SummedBlend):
    """Numbers that change until the run has asked about so many totals."""

    end: int = 1000

    def converged(self, total, n):
        SEEN.append(total)
        return len(SEEN) >= self.end


@pytest.fixture
def steps(monkeypatch):
    """The direction of each step that repeats iterations, and how many it did."""
    done = []

    def noted(*told):
        pages = repeat.repeat(*told)
        *_, how, _ = told
        done.append((how.direction, 1 if pages[0].supersteps is None else len(pages[0].supersteps)))
        return pages

    for module in on_cpu, on_gpu, multi_gpu:
        monkeypatch.setattr(module, "repeat", noted)
    return done
