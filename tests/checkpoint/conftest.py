"""What tests of checkpoints share."""

import pytest


@pytest.fixture
def directory(tmp_path):
    """Where the checkpoints of a run are, once it has made one."""
    return tmp_path / "checkpoints"
