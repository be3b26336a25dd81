"""An empty cache of compiled code, and a count of compilations."""

import pytest

from garaph_py.native import cache, kernel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing yet."""
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "_loaded", {})
    monkeypatch.setattr(kernel, "_read", {})
    monkeypatch.setattr(kernel.Kernel, "_native", property(kernel.Kernel._native.func))  # a kernel keeps its code, too
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def nothing_reported():
    """Each test hears of a cache that is not used, although an earlier one was told of the same."""
    cache.report.cache_clear()


@pytest.fixture
def compilations(monkeypatch):
    """Names of the functions compiled during the test."""
    from garaph_py.native import compiler

    compiled, compile_object = [], compiler.compile_object

    def counting(function, signature, joins):
        compiled.append(function.__name__)
        return compile_object(function, signature, joins)

    monkeypatch.setattr(compiler, "compile_object", counting)
    return compiled
