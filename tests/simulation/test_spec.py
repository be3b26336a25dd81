"""Files that describe simulations: what is said of those that are wrong."""

from __future__ import annotations

from unittest import mock

import pytest

from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import FormatError, ParameterError
from garaph_py.simulation.spec import read_spec
from tests.support.command import garaph
from tests.support.programs import WITH_POLICY
from tests.support.simulated import MACHINE, SPEC


@pytest.mark.parametrize(("before", "after", "said"), [
    ('machine = "machine.toml"', "", "machine is missing"), ('"small"\np', '"large"\np', "runs 1: graph='large'"),
    ('"ConnectedComponents"', '"Components"', "Components"), ("active = [1.0, 0.5]", "active = []", "active is"),
    ("fade = 0.1", "fade = 2", "fade=2"), ("iterations = 4", "iterations = 0", "iterations=0"),
    ("{ cpu = 0.5 }", "{ tpu = 0.5 }", "published="), ("vertices = 1_000_000", "vertices = 0.5", "graphs.small"),
    ("[[runs]]", "[[run]]", "'run'"), ('["cpu", "gpu"]', '["cpu", "tpu"]', "device='tpu'"),
    ('"rmat:10:8"', '"rmat:10"', "rmat:10"), ("[graphs.small]", "[layout]\nkeep = 1\n[graphs.small]", "keep=1"),
])  # fmt: skip
def test_what_is_wrong_with_a_spec_is_said(tmp_path, before, after, said):
    (tmp_path / "machine.toml").write_text(MACHINE)
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    shares = [one.active / 1e6 for one in read_spec(path).runs[0].workload.activities]
    assert shares == pytest.approx([1.0, 0.5, 0.05, 0.005])
    path.write_text(SPEC.replace(before, after))
    with pytest.raises((ParameterError, FormatError)) as error:
        read_spec(path)
    assert said in str(error.value)


@pytest.mark.parametrize("in_spec", [False, True])
def test_a_programs_file_may_register_an_engine(tmp_path, monkeypatch, capsys, in_spec):
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "mine.py").write_text(WITH_POLICY)
    spec = tmp_path / "spec.toml"
    chosen = ["simulate", spec, "--device", "cpu"] + ["--engine", "always-pull"] * (not in_spec)
    with mock.patch.dict(POLICIES):
        spec.write_text('engine = "always-pull"\n' * in_spec + SPEC)
        assert garaph(monkeypatch, *chosen) == 1
        assert "choose from auto, garaph" in capsys.readouterr().err
        spec.write_text(spec.read_text().replace("ConnectedComponents", "mine.py:Reach"))
        assert garaph(monkeypatch, *chosen) == 0
    assert "notify-pull" not in capsys.readouterr().out
