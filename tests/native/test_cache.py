"""The cache of compiled code: damaged entries and other keys are never used; cached code is not compiled again."""

import logging
import os
import pwd
import stat
import subprocess
import sys

import pytest

from garaph_py.native import Kernel, cache, kernel
from tests.support.compiled import define, python


@pytest.mark.slow
def test_another_processor_has_other_keys(folder, compilations, monkeypatch):
    def double(x):
        return 2 * x

    assert Kernel("i64", double)(4) == 8
    monkeypatch.setattr(cache, "environment", lambda: "a processor with other instructions")
    monkeypatch.setattr(kernel, "_loaded", {})
    assert not Kernel("i64", double).is_ready
    assert Kernel("i64", double)(4) == 8
    assert compilations == ["double", "double"]


def triple(x):
    return 3 * x


def compiled_entry(folder):
    assert Kernel("i64", triple)(5) == 15
    (entry,) = folder.glob("*.o")
    return entry


DAMAGE = {
    "empty": lambda data: b"",
    "only a header": lambda data: data[:16],
    "header and checksum": lambda data: data[:32],
    "half": lambda data: data[: len(data) // 2],
    "last byte missing": lambda data: data[:-1],
    "a byte too many": lambda data: data + b"\0",
    "a bit of the code flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "another version": lambda data: data.replace(b"garaph object 1", b"garaph object 0", 1),
    "not ours": lambda data: b"\x7fELF" + bytes(500),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_code_is_never_run(folder, compilations, monkeypatch, damage):
    entry = compiled_entry(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    monkeypatch.setattr(kernel, "_loaded", {})
    assert not Kernel("i64", triple).is_ready
    assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]
    assert cache.load(entry.stem) is not None  # replaced by a whole one


def test_code_under_another_key_is_never_run(folder, compilations):
    entry = compiled_entry(folder)
    other = Kernel("i64", define("def f(x): return 4 * x"))
    entry.rename(folder / f"{other.key}.o")
    assert not other.is_ready
    assert other(5) == 20
    assert compilations == ["triple", "f"]


def test_a_warm_kernel_is_loaded_not_compiled(folder, compilations, monkeypatch):
    compiled_entry(folder)
    monkeypatch.setattr(kernel, "_loaded", {})
    again = Kernel("i64", triple)
    assert again.is_ready
    assert again(6) == 18
    assert compilations == ["triple"]


def test_an_entry_is_read_once(folder, monkeypatch):
    compiled_entry(folder)
    monkeypatch.setattr(kernel, "_loaded", {})
    reads, load = [], cache.load
    monkeypatch.setattr(cache, "load", lambda key: reads.append(key) or load(key))
    for _ in range(2):
        again = Kernel("i64", triple)
        assert again.is_ready
        assert again.is_ready
        assert again(6) == 18
    assert reads == [again.key]


@pytest.mark.parametrize("below", [".", "deeper"])
def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch, below):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "file" / below))
    monkeypatch.setattr(kernel, "_loaded", {})
    assert Kernel("i64", triple)(5) == 15


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=oct)
def test_code_in_a_directory_that_others_can_write_is_never_run(folder, compilations, monkeypatch, caplog, mode):
    planted = compiled_entry(folder)
    before = planted.read_bytes()
    folder.chmod(mode)
    monkeypatch.setattr(kernel, "_loaded", {})
    with caplog.at_level(logging.WARNING):
        assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]
    (line,) = caplog.messages
    assert line.startswith(f"{folder}: compiled code cached here is not used, because all users can write to it; ")
    assert [path.read_bytes() for path in folder.iterdir()] == [before]  # nothing was written


def test_an_entry_that_others_can_write_is_replaced(folder, compilations, monkeypatch, caplog):
    planted = compiled_entry(folder)
    planted.chmod(0o666)
    monkeypatch.setattr(kernel, "_loaded", {})
    assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]
    assert len(caplog.messages) == 1
    assert stat.S_IMODE(planted.stat().st_mode) == 0o600
    assert cache.load(planted.stem) is not None


def test_a_link_is_no_entry(folder, compilations, monkeypatch, tmp_path):
    entry = compiled_entry(folder)
    entry.symlink_to(entry.rename(tmp_path / "elsewhere"))
    monkeypatch.setattr(kernel, "_loaded", {})
    assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]


def test_a_directory_that_others_can_only_read_is_used(folder, compilations, monkeypatch):
    compiled_entry(folder)
    folder.chmod(0o755)
    monkeypatch.setattr(kernel, "_loaded", {})
    assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple"]


def test_only_this_user_can_write_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "new" / "cache"))
    mask = os.umask(0)
    try:
        cache.store("key", b"code")
    finally:
        os.umask(mask)
    assert cache.load("key") == b"code"
    (entry,) = (tmp_path / "new" / "cache").iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (entry, entry.parent, entry.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


@pytest.mark.parametrize("setting", [None, "GARAPH_CACHE_DIR", "XDG_CACHE_HOME"])
def test_without_an_absolute_path_there_is_no_cache(tmp_path, compilations, monkeypatch, caplog, setting):
    """As for a user without HOME whom the system does not know."""

    def unknown(uid):
        raise KeyError(uid)

    for name in ("HOME", "GARAPH_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if setting:
        monkeypatch.setenv(setting, "relative")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        monkeypatch.setattr(kernel, "_loaded", {})
        assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]
    assert len(caplog.messages) == 1
    assert "this is not an absolute path" in caplog.messages[0]
    assert list(tmp_path.iterdir()) == []


COMPILES = """
from garaph_py.native import Kernel
def f(x): return 7 * x
print(Kernel("i64", f)(6))
"""


@pytest.mark.full
def test_processes_may_compile_the_same_at_once(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILES], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in both] == ["42\n", "42\n"]
    assert len(list(folder.iterdir())) == 1


LIBRARY_PROGRAM = """
import sys
import garaph_py as gp
light = not {"numba", "llvmlite", "pyarrow", "scipy", "typer", "rich", "pandas"} & set(sys.modules)
graph = gp.from_edges([0, 1, 2], [1, 2, 0])
for mode in ("pull", "notify-pull"):
    result = gp.run(gp.apps.BFS(source=0), graph, options=gp.Options(mode=mode))
print(light, result.values["level"].tolist(), "numba" in sys.modules)
"""


@pytest.mark.full
def test_a_warm_process_does_not_import_numba(folder):
    assert python(LIBRARY_PROGRAM) == "True [0, 1, 2] True\n"
    assert python(LIBRARY_PROGRAM) == "True [0, 1, 2] False\n"


def test_the_import_is_light():
    code = "import time; t = time.perf_counter(); import garaph_py; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(3)) < 0.6


def test_what_a_killed_process_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path))
    (tmp_path / "00.0123456789abcdef.tmp").write_bytes(b"half")
    (tmp_path / "11.0123456789abcdef.tmp").write_bytes(b"of another function")
    cache.store("00", b"code")
    assert {path.name for path in tmp_path.iterdir()} == {"00.o", "11.0123456789abcdef.tmp"}
    assert cache.load("00") == b"code"
