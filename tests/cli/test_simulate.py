"""How ``garaph simulate`` prepares the machine."""

from unittest import mock

from garaph_py.cli.simulate import with_all_programs
from garaph_py.simulation.spec import read_spec
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
