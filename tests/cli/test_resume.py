"""``garaph resume``: a checkpoint is data; it runs no code, replaces no file, and a finished run's answer is in it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

import garaph_py as gp
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import Store
from garaph_py.cli import request
from garaph_py.system import files
from tests.support.checkpoint_files import forge

GARAPH = [sys.executable, "-c", "from garaph_py import cli; cli.main()"]
OWN = """
from garaph_py.apps import PageRank
class Mine(PageRank):
    "A program in a file."
open({mark!r}, "a").close()
"""


@pytest.fixture
def stored(tmp_path):
    gp.save(gp.rmat(6), tmp_path / "graph")
    return tmp_path / "graph"


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    from tests.support.command import Shell

    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


@pytest.fixture
def full(monkeypatch):
    """A function that makes the disk full for files whose names end so, until it is called with None."""
    wanted, real = [], os.replace

    def replace(source, target, **folders):
        if any(str(target).endswith(suffix) for suffix in wanted):
            raise OSError(28, "No space left on device")
        real(source, target, **folders)

    monkeypatch.setattr(files.os, "replace", replace)

    def choose(suffix):
        wanted[:] = [] if suffix is None else [suffix]

    return choose


RUN = ("run", "PageRank", "graph", "--device", "cpu", "--checkpoint", "checkpoints", "-q")


def finished(shell, full, *options, program="PageRank"):
    """A run whose answer could not be written."""
    full("csv")
    status, _, said = shell(*RUN[:1], program, *RUN[2:], "--output", "ranks.csv", *options)
    assert status == 1
    full(None)
    return said


def test_an_output_that_fails_does_not_lose_the_answer(shell, stored, full, tmp_path):
    said = finished(
        shell, full, "--iterations", 5, "--report", "report.html", "-p", "damping=0.9", "-p", "dangling=drop"
    )
    assert "No space left on device; nothing was written" in said
    assert "whole: report.html" in said
    command = re.search(r"to write what is missing: garaph (resume.*)", said)[1]
    assert command == "resume checkpoints --report report.html"
    status, out, said = shell(*command.split())
    assert (status, said) == (0, "")
    assert "stopped after 0 iterations" in out
    assert "and 5 before" in out
    ranks = (tmp_path / "ranks.csv").read_text()
    assert not (tmp_path / "checkpoints").exists()
    shell("run", "PageRank", "graph", "--device", "cpu", "--iterations", 5, "-p", "damping=0.9", "-p", "dangling=drop",
          "--output", "again.csv")  # fmt: skip
    assert (tmp_path / "again.csv").read_text() == ranks


@pytest.mark.full
def test_a_kill_between_two_outputs_does_not_either(stored, tmp_path):
    text = (
        "import os, signal, sys; from garaph_py import cli; from garaph_py.output.result import Result\n"
        "Result.to_csv = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "cli.main()"
    )
    command = [sys.executable, "-c", text, *RUN, "--output", "ranks.csv"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    command = [*GARAPH, "resume", "checkpoints"]
    ended = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "after 0 iterations" in ended.stdout
    assert (tmp_path / "ranks.csv").exists()


def test_a_wrong_answer_is_not_offered_again(shell, stored, monkeypatch, tmp_path):
    def wrong(*_):
        raise gp.errors.VerificationError("wrong")

    monkeypatch.setattr("garaph_py.runtime.carry_out.verifier_of", lambda program: wrong)
    status, _, said = shell(*RUN, "--verify")
    assert status == 1
    assert "to write what is missing" not in said


@pytest.mark.full
def test_standard_output_is_an_output_too(stored, tmp_path):
    with open("/dev/full", "w") as full:
        command = [*GARAPH, *RUN]
        ended = subprocess.run(command, cwd=tmp_path, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode
    assert "No space left on device" in ended.stderr
    assert "garaph resume checkpoints" in ended.stderr
    assert (tmp_path / "checkpoints").exists()


@pytest.mark.full
def test_a_reader_that_has_seen_enough_does_not_keep_them(stored, tmp_path):
    text = f"{shlex.join([*GARAPH, *RUN])} --top 60 | head -0"
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True)
    assert not (tmp_path / "checkpoints").exists()


def test_a_recorded_output_replaces_no_file_unless_it_is_named_again(shell, stored, full, tmp_path):
    finished(shell, full)
    (tmp_path / "ranks.csv").write_text("mine")
    status, _, said = shell("resume", "checkpoints")
    assert status == 1
    assert f"writes {tmp_path / 'ranks.csv'}, which is there already; to replace it, add --output" in said
    assert (tmp_path / "ranks.csv").read_text() == "mine"
    assert shell("resume", "checkpoints", "--output=other.csv")[0] == 0
    assert (tmp_path / "ranks.csv").read_text() == "mine"
    assert (tmp_path / "other.csv").exists()


# Programs in files


@pytest.fixture
def own(tmp_path):
    """A program in a file; the file `mark` appears when its code runs."""
    (tmp_path / "own.py").write_text(OWN.format(mark=str(tmp_path / "mark")))
    return tmp_path / "own.py"


def test_an_empty_directory_stays(shell, tmp_path):
    (tmp_path / "project").mkdir()
    status, _, err = shell("resume", "project")
    assert (status, "project: there is no checkpoint" in err) == (1, True)
    assert (tmp_path / "project").is_dir()


def test_code_in_a_file_runs_only_if_it_is_named_again(shell, stored, full, own, tmp_path):
    finished(shell, full, program="own.py:Mine")
    (tmp_path / "mark").unlink()
    status, _, said = shell("resume", "checkpoints")
    assert status == 1
    assert f"its run is of {own}:Mine, which is code in a file; to run that code, add --program {own}:Mine" in said
    for other in ("PageRank", "other.py:Mine", f"{own}:Other"):
        assert shell("resume", "checkpoints", "--program", other)[0] == 1
    own.write_text(own.read_text() + "# more\n")
    status, _, said = shell("resume", "checkpoints", "--program", f"{own}:Mine")
    assert status == 1
    assert "the file has changed since the run began" in said
    assert not (tmp_path / "mark").exists()
    own.write_text(own.read_text().removesuffix("# more\n"))
    assert shell("resume", "checkpoints", "--program", "own.py:Mine")[0] == 0
    assert (tmp_path / "ranks.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("digest", [None, "0" * 64, 5])
def test_a_forged_program_does_not_run(shell, stored, full, own, tmp_path, digest):
    finished(shell, full)
    change_request(tmp_path, lambda asked: asked | {"program": f"{own}:Mine", "digest": digest})
    for more in ((), ("--program", "PageRank")):
        assert shell("resume", "checkpoints", *more)[0] == 1
    assert not (tmp_path / "mark").exists()


def change_request(tmp_path, change):
    for path in (tmp_path / "checkpoints").iterdir():
        forge(path, lambda header: header | {"request": change(header["request"])})


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda asked: {},
        lambda asked: asked | {"more": 1},
        lambda asked: asked | {"program": ["PageRank"]},
        lambda asked: asked | {"program": "a\0b"},
        lambda asked: asked | {"digest": "0" * 64},
        lambda asked: asked | {"graph": None},
        lambda asked: asked | {"graph": "a\0b"},
        lambda asked: asked | {"options": [1, 2]},
        lambda asked: asked | {"options": {"output": "a\0b"}},
        lambda asked: asked | {"options": {"output": {}}},
        lambda asked: asked | {"options": {"quiet": "yes"}},
        lambda asked: asked | {"options": {"source": True}},
        lambda asked: asked | {"options": {"parameter": "damping=1"}},
        lambda asked: asked | {"options": {"parameter": [1]}},
        lambda asked: asked | {"options": {"evil": "x"}},
        lambda asked: asked | {"options": {"checkpoint": "/elsewhere"}},
    ],
)
def test_a_forged_request_is_refused(shell, stored, full, tmp_path, change):
    finished(shell, full)
    change_request(tmp_path, change)
    status, _, said = shell("resume", "checkpoints")
    assert status == 1
    assert said.startswith("error: checkpoints: the run that it records is invalid: ")
    assert said.count("\n") == 1


def test_flags_that_were_not_given_may_be_recorded(shell, stored, full, tmp_path):
    finished(shell, full)
    change_request(tmp_path, lambda asked: asked | {"options": {"quiet": False, "sync": True, "tolerance": 1e-3}})
    status, _, said = shell("resume", "checkpoints")
    assert (status, "tolerance" in said) == (1, True)  # another tolerance is another run


def test_a_request_names_the_options_that_were_given(shell, stored, full, tmp_path):
    finished(shell, full, "--sync", "--tolerance", 1e-3)
    store = Store(tmp_path / "checkpoints", Files())
    record = store.newest().request
    store.close()
    assert json.loads(json.dumps(record)) == {
        "program": "PageRank", "digest": None, "graph": str(stored),
        "options": {
            "tolerance": 1e-3, "sync": True, "device": "cpu", "quiet": True, "output": str(tmp_path / "ranks.csv"),
        },
    }  # fmt: skip
    assert set(record) == set(request.Request.__annotations__)


def test_a_directory_of_somebody_else_is_refused_with_the_way_out(shell, stored, full, tmp_path):
    finished(shell, full)
    for path in (tmp_path / "checkpoints").iterdir():
        os.chmod(path, 0o666)
    status, _, said = shell("resume", "checkpoints")
    assert status == 1
    assert "all users can write to it, and a checkpoint must be its user's own; if you trust it, copy it" in said
    subprocess.run("cp -r checkpoints mine && chmod -R go-w mine", shell=True, check=True)
    assert shell("resume", "mine")[0] == 0
