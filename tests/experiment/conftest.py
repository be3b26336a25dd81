"""What tests of experiments share: specs made of text, and a machine that is described at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from garaph_py import experiment
from garaph_py.experiment import measure
from tests.support.experiments import MACHINE


@pytest.fixture
def spec_of(tmp_path: Path) -> Any:
    """A function that makes a spec of a text."""

    def write(text: str) -> experiment.Spec:
        (tmp_path / "spec.toml").write_text(text)
        return experiment.read(tmp_path / "spec.toml")

    return write


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The description of a machine that takes no time to describe."""
    described = dict(MACHINE)
    monkeypatch.setattr(measure, "describe", lambda folder, on_event, known: described)
    return described


@pytest.fixture
def no_machine(machine: dict[str, Any]) -> None:
    """A machine that takes no time to describe."""
