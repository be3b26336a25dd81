"""What a spec's programs bring along: engines that their files register."""

from pathlib import Path
from unittest import mock

import pytest

from garaph_py import experiment
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import ParameterError
from tests.support.programs import WITH_POLICY

SPEC = """
[sweep]
graph = "rmat:6:4"
engine = ["auto", "always-pull"]
[[runs]]
program = ["PageRank"{own}]
"""


def test_a_programs_file_may_register_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    (tmp_path / "mine.py").write_text(WITH_POLICY)
    with mock.patch.dict(POLICIES):
        path.write_text(SPEC.format(own=""))
        with pytest.raises(ParameterError, match="sweep: engine='always-pull': choose from auto, garaph"):
            experiment.read(path)
        path.write_text(SPEC.format(own=', "mine.py:Reach"'))
        engines = [one.settings["engine"] for one in experiment.read(path).combinations]
    assert sorted(engines) == ["always-pull", "always-pull", "auto", "auto"]


MINE = """
import garaph_py as gp

class Mine(gp.Policy):
    def decide(self, seen):
        return gp.Decision("pull", "mine", seen.device)
"""


def test_a_policy_in_a_file_beside_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    (tmp_path / "mine.py").write_text(MINE)
    path.write_text('[sweep]\nprogram = "PageRank"\ngraph = "rmat:6:4"\nengine = ["auto", "mine.py:Mine"]\n')
    with mock.patch.dict(POLICIES):
        engines = [one.settings["engine"] for one in experiment.read(path).combinations]
        assert engines == ["auto", "mine.py:Mine"]
        assert type(POLICIES["mine.py:Mine"]).__name__ == "Mine"
        path.write_text(path.read_text().replace("mine.py:Mine", "mine.py:Yours"))
        with pytest.raises(
            ParameterError, match=r"sweep: .*mine\.py has no policy 'Yours'; (it has|did you mean) Mine"
        ):
            experiment.read(path)
