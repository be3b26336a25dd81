"""What NetworkX reads whenever it is imported."""

import subprocess
import sys

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
