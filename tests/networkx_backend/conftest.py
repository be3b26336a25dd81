"""What the tests of NetworkX's backend share."""

import networkx as nx
import pytest


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """NetworkX knows the backend, and does not warn that it has cached a graph."""
    if "garaph" not in nx.utils.backends.backends:
        pytest.fail("NetworkX does not know the backend: install garaph_py again (pip install -e .)")
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})
