"""``device="auto"`` with its choice made: runs take a GPU, or do not, whatever their graph is."""

from garaph_py.runtime.reckoning import Call, OnDevice, Rates, Verdict

TARGET = "garaph_py.runtime.plan.reckon"


def verdict(on_gpu):
    """A choice that rests on nothing."""
    return Verdict(on_gpu, "because the test says so", Call("all", 1, 1), OnDevice(), Rates())


def auto_takes(monkeypatch, on_gpu=True):
    """Have ``device="auto"`` take the GPU, or the CPU; nobody learns from it."""
    monkeypatch.setattr(TARGET, lambda *_: verdict(on_gpu))
    monkeypatch.setattr("garaph_py.runtime.carry_out.remember", lambda *_: None)
