"""Which kernels a run makes tables of arguments for."""

import pytest

from garaph_py.executor.cpu import launch


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The kernels and numbers of calls for which tables have been made."""
    tables: list[tuple[str, int]] = []

    class Noted(launch.RecordTable):
        def __init__(self, kernel, calls):
            tables.append((kernel.name, calls))
            super().__init__(kernel, calls)

    monkeypatch.setattr(launch, "RecordTable", Noted)
    return tables
