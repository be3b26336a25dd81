"""The ``garaph`` command, called in this process."""

import sys

import pytest

from garaph_py import cli


def garaph(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command; its exit status."""
    monkeypatch.setattr(sys, "argv", ["garaph", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0
