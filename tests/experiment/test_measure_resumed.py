"""An experiment that was interrupted or killed goes on: with the same spec, on the same machine, from whole tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from garaph_py import experiment
from garaph_py.errors import FormatError, Interrupted, ParameterError
from garaph_py.experiment import measure
from garaph_py.experiment.kinds import ITERATIONS
from garaph_py.experiment.spec import RESULTS
from tests.support.experiments import MACHINE, SWEEP, interrupt_at, table


def test_an_interrupted_experiment_is_kept_and_goes_on(
    spec_of: Any, no_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, spec = tmp_path / "out", spec_of(SWEEP)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 4 + 3)  # warm-ups, and two measurements
        found = f"after 2 of 16 measurements, which are in {out}; continue with --resume"
        with pytest.raises(Interrupted, match=found):
            experiment.run(spec, out)
    before = table(out, RESULTS)
    assert len(before) == 2
    assert not list(out.glob(".*"))
    rows = experiment.run(spec, out, resume=True)
    assert rows[:2] == before
    assert {(row["combination"], row["repeat"]) for row in rows} == {(c, r) for c in range(8) for r in range(2)}
    assert len(rows) == 16
    assert len(table(out, ITERATIONS)) == sum(row["iterations_done"] for row in rows)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)  # nothing is left to run
        assert experiment.run(spec, out, resume=True) == rows


def test_what_a_killed_experiment_left_is_removed(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    out, spec = tmp_path / "out", spec_of(SWEEP)
    out.mkdir()  # killed before it had written the spec
    (out / ".spec.toml.01234567.partial").touch()
    rows = experiment.run(spec, out)
    (out / ".measuring-01234567" / "graph").mkdir(parents=True)  # killed while it measured
    with measure.place_in(out) as used:
        assert experiment.run(spec, out, resume=True) == rows
        assert list(out.glob(".*")) == [used]


def test_damage_to_what_is_resumed_is_typed(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    experiment.run(spec_of(SWEEP), out)
    names = ("results.parquet", "iterations.parquet", "machine.json")
    whole = {name: (out / name).read_bytes() for name in names}
    swapped = pa.table({"combination": ["a"], "repeat": [None]})
    pq.write_table(swapped, out / "other.parquet")
    for name, contents in whole.items():
        middle = contents.index(b"custom") if b"custom" in contents else len(contents) // 2
        flipped = contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]
        others = [b"", b"{}", contents[:-9], contents[: len(contents) // 2], (out / "other.parquet").read_bytes()]
        for damaged in others + [flipped] * name.endswith(".parquet"):
            (out / name).write_bytes(damaged)
            with pytest.raises(FormatError, match=re.escape(str(out / name))):
                experiment.run(spec_of(SWEEP), out, resume=True)
            assert (out / name).read_bytes() == damaged
        (out / name).write_bytes(contents)
    (out / "machine.json").unlink()
    assert len(experiment.run(spec_of(SWEEP), out, resume=True)) == 16


def test_results_of_earlier_versions_are_resumed(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    """Their tables have no column for the machine, and none for the source."""
    out, spec = tmp_path / "out", spec_of(SWEEP)
    rows = experiment.run(spec, out)
    for name in (RESULTS, ITERATIONS):
        path = out / f"{name}.parquet"
        before = pq.read_table(path)
        late = [column for column in ("machine", "source", "source_edges") if column in before.column_names]
        pq.write_table(before.drop_columns(late), path)
    again = experiment.run(spec, out, resume=True)
    assert {row["machine"] for row in again} == {"X, 2 cores, GPU: none"}
    known = [name for name in rows[0] if name not in ("machine", "source", "source_edges")]
    assert [[row[name] for name in known] for row in again] == [[row[name] for name in known] for row in rows]


def test_a_spec_may_get_other_plots(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    """Nothing is measured again: the times stay."""
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    before = experiment.run(spec_of(SWEEP), out)
    plots = "\n# a picture\n[[plots]]\nname = 'times'\nkind = 'bar'\nx = 'graph'\ny = 'seconds'\nby = 'program'\n"
    assert experiment.run(spec_of(SWEEP + plots), out, resume=True) == before
    assert list(out.glob("times*"))
    assert (out / "spec.toml").read_text() == SWEEP + plots
    (out / "spec.toml").write_bytes(b"\xff")
    with pytest.raises(ParameterError, match="was made from another spec"):
        experiment.run(spec_of(SWEEP), out, resume=True)


def test_what_cannot_be_resumed(
    spec_of: Any, no_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with pytest.raises(ParameterError, match="has no experiment to continue"):
        experiment.run(spec_of(SWEEP), out, resume=True)
    experiment.run(spec_of(SWEEP), out)
    for other in (SWEEP + "threads = 1", SWEEP.replace("[sweep]", "seed = 7\n[sweep]")):
        with pytest.raises(ParameterError, match="was made from another spec"):
            experiment.run(spec_of(other), out, resume=True)
    monkeypatch.setattr(measure, "describe", lambda folder, on_event, known: MACHINE | {"gpus": [{"name": "NVIDIA X"}]})
    with pytest.raises(ParameterError, match="was measured on X, 2 cores, GPU: none, and this is X, 2 cores, GPU: NV"):
        experiment.run(spec_of(SWEEP), out, resume=True)
