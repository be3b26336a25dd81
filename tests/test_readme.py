"""What the README shows, works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from garaph_py.networkx_backend.info import get_info

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run(number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(BLOCKS[number], "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert "libc6" in capsys.readouterr().out


def test_both_commands_are_there() -> None:
    commands = [line.strip() for line in README.splitlines() if line.startswith("    python3 -m venv")]
    assert len(commands) == 2
    assert "garaph run PageRank data/debian-sid-deps.tsv.xz" in commands[0]
    assert (ROOT / "data/debian-sid-deps.tsv.xz").is_file()
    assert commands[1].endswith("-m pytest -n 2")


def test_the_number_of_networkx_s_functions_is_right() -> None:
    (number,) = re.findall(r"NetworkX itself can use garaph_py for (\d+) of its functions", README)
    assert int(number) == len(get_info()["functions"])
