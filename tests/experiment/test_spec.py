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
