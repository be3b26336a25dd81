"""Runs NetworkX's own tests with ``backend="garaph"``, and counts which calls ran here and which fell back.

    python scripts/networkx_suite.py                 # the modules whose functions the backend has
    python scripts/networkx_suite.py --all           # all of NetworkX's tests
    python scripts/networkx_suite.py --json counts.json

NetworkX converts the graphs of each call, and asks `can_run`; `should_run` is not asked. A call falls back to NetworkX
if `can_run` gives a reason, or if the conversion or the function raises NotImplementedError. Exits with pytest's code.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections import Counter
from functools import wraps
from pathlib import Path

os.environ |= {"NETWORKX_TEST_BACKEND": "garaph", "NETWORKX_FALLBACK_TO_NX": "True"}

import pytest

from garaph_py.networkx_backend.info import FUNCTIONS

ALGORITHMS = "networkx.algorithms."
MODULES = [
    ALGORITHMS + name
    for name in (
        "shortest_paths", "link_analysis", "components", "centrality.tests.test_degree_centrality",
        "centrality.tests.test_closeness_centrality", "centrality.tests.test_harmonic_centrality",
        "centrality.tests.test_betweenness_centrality", "centrality.tests.test_eigenvector_centrality",
        "centrality.tests.test_katz_centrality", "community.tests.test_label_propagation", "tests.test_cluster",
        "tests.test_core", "tests.test_dag", "tests.test_distance_measures", "tests.test_efficiency",
        "tests.test_isolate", "tests.test_mis", "tests.test_wiener", "traversal.tests.test_bfs",
    )
]  # fmt: skip
"""The packages and modules of NetworkX that test the functions of the backend."""


class Counts:
    """A plugin of pytest that counts calls of the backend's functions.

    Attributes
    ----------
    ran : Counter of str
        Calls that ran here, by function. One that raised another exception than NotImplementedError did run.
    fell_back : Counter of (str, str)
        Calls that fell back, by function and reason.
    """

    def __init__(self) -> None:
        self.ran, self.fell_back = Counter(), Counter()

    def pytest_collection_finish(self) -> None:
        from garaph_py.networkx_backend import backend

        for name in FUNCTIONS:
            setattr(backend, name, self._counted(name, getattr(backend, name)))
        backend.can_run = self._noted(backend.can_run)
        backend.convert_from_nx = self._converting(backend.convert_from_nx)

    def _counted(self, name, function):
        @wraps(function)
        def called(*args, **kwargs):
            try:
                found = function(*args, **kwargs)
            except NotImplementedError as error:
                self.fell_back[name, str(error).partition(",")[0]] += 1
                raise
            except Exception:
                self.ran[name] += 1
                raise
            self.ran[name] += 1
            return found

        return called

    def _noted(self, can_run):
        def noted(name, args, kwargs):
            answer = can_run(name, args, kwargs)
            self.fell_back[name, str(answer)] += answer is not True
            return answer

        return noted

    def _converting(self, convert):
        def converted(graph, **asked):
            try:
                return convert(graph, **asked)
            except NotImplementedError as error:
                self.fell_back[asked["name"], str(error)] += 1
                raise

        return converted

    def table(self) -> str:
        """A Markdown table: calls that ran here and that fell back, by function, with the reasons."""
        rows = ["| function | ran here | fell back | because |", "|---|---|---|---|"]
        for name in FUNCTIONS:
            reasons = {reason: n for (function, reason), n in self.fell_back.items() if function == name and n}
            text = "; ".join(f"{reason} ({n})" for reason, n in sorted(reasons.items()))
            rows.append(f"| `{name}` | {self.ran[name]} | {sum(reasons.values())} | {text} |")
        return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run all of NetworkX's tests")
    parser.add_argument("--json", metavar="FILE", help="write the number of calls that ran here, by function")
    parser.add_argument("arguments", nargs="*", help="further arguments for pytest, after --")
    given = parser.parse_args()
    file = given.json and os.path.abspath(given.json)
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # not the settings of this checkout
        chosen = ["networkx"] if given.all else MODULES
        options = ["-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "-c", os.devnull, *given.arguments]
        code = pytest.main([*options, "--pyargs", *chosen], plugins=[counts])
    print(counts.table())
    print(f"{sum(counts.ran.values())} calls ran here, {sum(counts.fell_back.values())} fell back")
    if file:
        Path(file).write_text(json.dumps(dict(counts.ran)))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
