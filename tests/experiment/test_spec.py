"""What a spec's programs bring along: engines that their files register. And the specs in scripts/experiments: each is
well-formed, and the figures that they quote are the papers'."""

from pathlib import Path
from unittest import mock

import pytest

from garaph_py import experiment
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import ParameterError
from tests.support.programs import WITH_POLICY

SPECS = sorted((Path(__file__).parents[2] / "scripts" / "experiments").glob("*.toml"))
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


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_papers_experiments_are_well_formed(path: Path) -> None:
    spec = experiment.read(path)
    assert spec.plots
    assert [figure.name for figure in spec.plots if not figure.caption] == []
    assert path.stem in (path.parent / "README.md").read_text()


def test_hytgraphs_table_has_the_papers_systems_beside_every_program() -> None:
    spec = experiment.read(next(path for path in SPECS if path.stem == "hytgraph"))
    (table5,) = (figure for figure in spec.plots if figure.name == "table5")
    panels = {reference.panel: reference for reference in table5.reference}
    assert set(panels) == {"BFS", "SSSP", "ConnectedComponents", "DeltaPageRank"}
    for reference in panels.values():
        assert list(reference.rows) == ["SK", "TW", "FK", "UK", "FS"]
        assert {"Galois", "Subway", "paper's HyTGraph"} <= set(reference.columns)
    # "the speedup of HyTGraph over ExpTM-F ranges from 2.01X (for PageRank on FK) to 28.52X (for BFS on UK)"
    speedups = {
        (panel, graph): row[one.columns.index("ExpTM-F")] / row[one.columns.index("paper's HyTGraph")]  # type: ignore[operator]
        for panel, one in panels.items()
        for graph, row in one.rows.items()
    }
    assert speedups["DeltaPageRank", "FK"] == pytest.approx(2.01, abs=0.01)
    assert max(speedups, key=lambda where: speedups[where]) == ("BFS", "UK")
    assert max(speedups.values()) == pytest.approx(28.52, abs=0.01)


def test_there_are_specs_for_the_papers_figures() -> None:
    names = {"figure8", "figure9", "figure10", "figure11", "table2", "table4"}
    assert names <= {path.stem for path in SPECS}
