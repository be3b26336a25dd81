"""Kernels that read objects of Python, compiled and as Python functions."""

import pytest

from garaph_py.graph import objects
from tests.support.objects import launched


@pytest.fixture(params=["compiled", "python"])
def _way(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(objects.Objects, "launched", launched)
