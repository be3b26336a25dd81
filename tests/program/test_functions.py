"""What the functions of a program may use: other programs, closures, modules of the user, and a session."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError, ProgramError
from tests.support.programs import RING, check, derived, program


class Boosted(gp.apps.PageRank):
    """PageRank whose teleport is multiplied."""

    boost: float = 2.0

    def apply(self, acc, total, n, out_degree):
        rank = (float(1) - self.damping) * self.boost / n + self.damping * acc
        return rank / max(out_degree, float(1))


@pytest.mark.full
def test_a_program_may_extend_another():
    result = gp.run(Boosted(damping=0.5, boost=4, dtype=np.float32), RING, iterations=1)
    np.testing.assert_allclose(result.values, [0.5 * 4 / 3 + 0.5 / 3] * 3, rtol=1e-6)
    with pytest.raises(ParameterError, match=r"Boosted\(damping=2\)"):
        Boosted(damping=2)


@pytest.mark.full
def test_a_closure_is_part_of_the_program():
    def times(factor):
        return derived(value=np.float32, apply=lambda self, acc: acc * float(factor))()

    assert gp.run(times(2), RING, iterations=1).values.tolist() == [4, 0, 2]
    with pytest.raises(ProgramError, match="factor is a dict"):
        check(derived(apply=(lambda factor: lambda self, acc: factor)({}))())


USER_MODULE = """
import numpy as np
import garaph_py as gp
import settings
class P(gp.VertexProgram):
    value = np.int64
    sum = gp.add
    def init(self, id): return id
    def gather(self, src): return src
    def apply(self, acc): return acc * settings.FACTOR
"""
RUNS_IT = """
import sys
import garaph_py as gp
from user_module import P
result = gp.run(P(), gp.from_edges([0, 1, 2], [1, 2, 0]), iterations=1)
print(result.values.tolist(), "numba" in sys.modules)
"""


@pytest.mark.full
def test_an_edited_constant_of_a_users_module_changes_the_cache_key(tmp_path):
    (tmp_path / "user_module.py").write_text(USER_MODULE)

    def answer(factor):
        (tmp_path / "settings.py").write_text(f"FACTOR = {factor}\n")
        folders = [str(tmp_path), *sys.path]
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": "1",
            "GARAPH_CACHE_DIR": str(tmp_path / "cache"),
        }  # fmt: skip
        command = [sys.executable, "-c", RUNS_IT]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    assert answer(2) == "[4, 0, 2] True"
    assert answer(2) == "[4, 0, 2] False"
    assert answer(3).startswith("[6, 0, 3]")


@pytest.mark.full
def test_a_program_typed_into_a_session_runs():
    kind = program("return acc * float(2)")
    assert kind.__module__ == "__main__"
    assert gp.run(kind(), RING, iterations=1).values.tolist() == [6, 2, 4]


@pytest.mark.full
def test_two_threads_may_compile_programs_at_once():
    def run(factor):
        text = textwrap.dedent(f"""
            import numpy as np, garaph_py as gp
            class P(gp.VertexProgram):
                value = {{"one": np.float32, "field{factor}": np.float32}}
                accumulator = np.float32
                sum = gp.add
                def init(self, id): return float(id), float({factor})
                def gather(self, src): return src.one
                def apply(self, old, acc): return acc, old.field{factor}
        """)
        names = {"__name__": "session"}
        exec(text, names)
        results[factor] = gp.run(names["P"](), RING, iterations=1).values.tolist()

    results = {}
    threads = [threading.Thread(target=run, args=(factor,)) for factor in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {factor: [(2, factor), (0, factor), (1, factor)] for factor in (1, 2)}
