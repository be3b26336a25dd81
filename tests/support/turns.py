"""Hybrid runs in which the host takes a page only after the GPU has completed one: a fast host could leave it none."""

import threading

import pytest

from garaph_py.executor import hybrid
from garaph_py.executor.shared import SharedPages


class PagesInTurns(SharedPages):
    """The host waits until the GPU has completed one page more, or its thread has no more to do."""

    def __init__(self, *given):
        self._completed, self._has_ended = threading.Semaphore(0), False
        super().__init__(*given)

    def _work(self):
        try:
            super()._work()
        finally:
            self._has_ended = True
            self._completed.release()

    def _on_complete(self, page, result):
        super()._on_complete(page, result)
        self._completed.release()

    def steal(self):
        assert self._thread is None or self._has_ended or self._completed.acquire(timeout=60)
        return super().steal()


@pytest.fixture
def gpu_keeps_up(monkeypatch):
    """Each GPU does some pages of each iteration that it shares with the host, however late its thread begins."""
    monkeypatch.setattr(hybrid, "SharedPages", PagesInTurns)
