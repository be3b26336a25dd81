"""What NetworkX reads whenever it is imported."""

import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from garaph_py.networkx_backend.info import FUNCTIONS

DECISIONS = Path(__file__).parents[2] / "docs" / "decisions" / "networkx.md"
CODE = """
import sys
from garaph_py.networkx_backend.info import get_info
assert "pagerank" in get_info()["functions"]
heavy = {"numpy", "numba", "scipy", "networkx", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
loaded = sorted(name for name in sys.modules if name.startswith("garaph_py"))
assert loaded == ["garaph_py", "garaph_py.networkx_backend", "garaph_py.networkx_backend.info"], loaded
"""


def test_it_is_light():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not nx.__version__.startswith("3.6"), reason="the decisions are about NetworkX 3.6")
def test_the_decisions_say_why_other_functions_of_the_same_modules_are_left_out():
    offered = nx.utils.backends._registered_algorithms
    homes = {offered[name].__module__ for name in FUNCTIONS}
    others = {name for name, function in offered.items() if function.__module__ in homes} - set(FUNCTIONS)
    section = DECISIONS.read_text().partition("## Functions that are left out")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(others)
    assert f"functions from {len(homes)} modules" in section
