"""NetworkX's own tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from garaph_py.networkx_backend.info import FUNCTIONS
from tests.support.networkx_calls import SUBGRAPHS

ROOT = Path(__file__).parent.parent.parent
FEW = "Core or Connected or Triangles or GenericPath or BFS or Isolate or Wiener"
"""Names of tests that take seconds."""


def ran(folder, *chosen):
    """The functions that NetworkX's tests have really called here, all of which must pass."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "networkx_suite.py", "--json", folder / "counts.json", "--", *chosen],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {name for name, calls in json.loads((folder / "counts.json").read_text()).items() if calls}


@pytest.mark.slow
def test_some_of_networkx_s_tests_pass(tmp_path):
    expected = {"bfs_layers", "connected_components", "core_number", "isolates", "shortest_path", "triangles"}
    assert ran(tmp_path, "-k", FEW) >= expected


@pytest.mark.full
def test_networkx_s_tests_pass(tmp_path):
    """Those of the modules whose functions the backend has; each that takes NetworkX's graphs really runs here."""
    assert set(FUNCTIONS) - ran(tmp_path) == set(SUBGRAPHS)
