"""What tests of algorithms share."""

from tests.support.networkx_graphs import threads  # noqa: F401 - a fixture
