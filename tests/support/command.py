"""The ``garaph`` command, called in this process."""

import sys

import pytest

from garaph_py import cli
from tests.support import command


def garaph(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command; its exit status."""
    monkeypatch.setattr(sys, "argv", ["garaph", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0


class Shell:
    """Runs ``garaph`` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        return command.garaph(self.monkeypatch, *arguments), *self.capsys.readouterr()
