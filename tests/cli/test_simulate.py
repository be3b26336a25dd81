"""How ``garaph simulate`` prepares the machine."""

from unittest import mock

from garaph_py.cli.simulate import with_all_programs
from garaph_py.simulation.spec import read_spec
from tests.support.command import garaph
from tests.support.simulated import MACHINE, SPEC


def test_programs_are_compared_under_each_engine(tmp_path):
    """An engine has only the costs that were measured under it; on a GPU, nothing is compared."""
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "spec.toml").write_text('engine = ["auto", "garaph"]\n' + SPEC)
    spec = read_spec(tmp_path / "spec.toml")
    runs = [(run, device) for run in spec.runs for device in spec.devices]
    with mock.patch("garaph_py.simulation.compare.compared", lambda machine, *of: (machine, *of)):
        found = with_all_programs(spec.machine, runs)
    assert found == {
        run.engine: (spec.machine, run.program, run.workload.traits, run.engine) for run in spec.runs
    }  # fmt: skip
    assert list(found) == ["auto", "garaph"]


def test_a_table_has_no_header_if_its_first_run_cannot_be_simulated(tmp_path, monkeypatch, capsys):
    (tmp_path / "machine.toml").write_text("cores = 2\n[[work]]\nprocessor = 'gpu'\nedge = [1e-9, 0.0]\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    assert garaph(monkeypatch, "simulate", tmp_path / "spec.toml") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "what ConnectedComponents costs on cpu; add [[work]]" in err
