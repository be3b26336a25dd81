"""Which decisions an executor cannot carry out, and what the message says."""

import pytest

from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.refusal import refusal
from garaph_py.executor.modes import COMPONENTS, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.executor.protocol import Capabilities, Decision

ON_CPU = Capabilities("cpu", (PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS))
ON_GPU = Capabilities("gpu", (PULL, NOTIFY_PULL, PUSH))
LISTS = Capabilities("gpu", (PUSH,))


def seen(**facts):
    return Observation(10, 100, 1, 5, **{"is_relaxation": True, **facts})


def why(mode, on="cpu", can=ON_CPU, **facts):
    return refusal(Decision(mode, "", on), seen(**facts), can)


def test_what_is_possible():
    for mode in PULL, NOTIFY_PULL, PUSH:
        assert why(mode) is None
    assert why(PULL_TILED, tiles=True) is None
    assert why(COMPONENTS, components=True) is None
    assert why(PUSH, "gpu", ON_GPU, device="gpu") is None
    for device in "cpu", "gpu", "both":
        assert why(PULL, device, ratio=2.0) is None
    assert why(PUSH, "gpu", ratio=2.0, device_pushes=True) is None
    assert why(PUSH, is_relaxation=False, deltas=True, has_sums=True) is None


def test_engines_that_only_push_begin_with_a_push():
    assert why(PUSH, "gpu", LISTS, device="gpu", is_relaxation=False, deltas=True) is None


def test_what_the_user_asked_for_is_not_refused():
    assert why(PULL_TILED, forced_mode=PULL_TILED) is None


@pytest.mark.parametrize(
    ("mode", "facts", "said"),
    [
        ("sideways", {}, "there is no such mode; choose from pull, notify-pull, push"),
        (PUSH, {"updates_all_vertices": True}, "every vertex is to be updated; choose from pull"),
        (PUSH, {"is_relaxation": False}, "the program is no relaxation and has no delta"),
        (PUSH, {"is_relaxation": False, "deltas": True}, "no pull has made the sums"),
        (PULL_TILED, {}, "the graph has no tiles"),
        (COMPONENTS, {}, "union-find does not give the answer"),
        (
            NOTIFY_PULL,
            {"only_pushes": True},
            "values are not final yet, so that only pushes are right; choose from push",
        ),
    ],
)
def test_what_is_not(mode, facts, said):
    assert f"mode={mode!r} is not possible here, because {said}" in why(mode, **facts)


def test_processors():
    assert why(PULL, "gpu") == "device='gpu' does not work in this run; choose from cpu"
    assert why(PULL, "cpu", ON_GPU, device="gpu") == "device='cpu' does not work in this run; choose from gpu"
    assert "choose from pull, notify-pull" in why(PUSH, "both", ratio=2.0)
    assert why(NOTIFY_PULL, "both", ratio=2.0) is None
    assert "every vertex is to be updated; choose from pull" in why(
        NOTIFY_PULL, "both", ratio=2.0, updates_all_vertices=True
    )
    assert "choose from pull" in why(NOTIFY_PULL, "gpu", ratio=2.0)
    assert "choose from push" in why(PULL, "gpu", LISTS, device="gpu")


def test_anything_else_than_a_decision():
    assert refusal("push", seen(), ON_CPU) == "it returned 'push'; return gp.Decision(mode, why, device)"
