"""What tests of algorithms share."""

from tests.support.interpreted_gpu import on_gpu  # noqa: F401 - a fixture
from tests.support.networkx_graphs import threads  # noqa: F401 - a fixture
