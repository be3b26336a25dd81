"""NetworkX's own tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from garaph_py.networkx_backend.info import FUNCTIONS
from tests.support.networkx_calls import SUBGRAPHS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_networkx_s_tests_pass(tmp_path):
    """Those of the modules whose functions the backend has; each that takes NetworkX's graphs really runs here."""
    counts = tmp_path / "counts.json"
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "networkx_suite.py", "--json", counts],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ran = {name for name, calls in json.loads(counts.read_text()).items() if calls}
    assert set(FUNCTIONS) - ran == set(SUBGRAPHS)
