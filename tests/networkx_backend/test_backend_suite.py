"""NetworkX's own tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from garaph_py.networkx_backend.info import FUNCTIONS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.full
def test_networkx_s_tests_pass(tmp_path):
    """Those of the modules whose functions the backend has; each of these functions really runs here."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "networkx_suite.py", "--json", tmp_path / "counts.json"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert {name for name in FUNCTIONS if not counts.get(name)} == set()
