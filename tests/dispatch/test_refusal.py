"""Which decisions an executor cannot carry out, and what the message says."""

import re

import numpy as np
import pytest

from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.refusal import modes_on, refusal
from garaph_py.executor.decision import Decision, PageDecision, Transfers
from garaph_py.executor.gpu.page_transfers import EITHER
from garaph_py.executor.modes import COMPONENTS, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.executor.protocol import Capabilities
from garaph_py.pages.layout import layout

ON_CPU = Capabilities("cpu", (PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS))
ON_GPU = Capabilities("gpu", (PULL, NOTIFY_PULL, PUSH))
LISTS = Capabilities("gpu", (PUSH,))


def seen(**facts):
    return Observation(10, 100, 1, 5, **{"is_relaxation": True, **facts})


def why(mode, on="cpu", can=ON_CPU, **facts):
    """A user's names are equal to ours, but other objects."""
    return refusal(Decision("".join(mode), "", "".join(on)), seen(**facts), can)


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
    for relaxes in (True, False):
        assert why(PULL_TILED, forced_mode=PULL_TILED, is_relaxation=relaxes) is None
    assert why(COMPONENTS, forced_mode=PULL_TILED) is not None
    for device in "both", "gpu":  # what is asked for is done by the processor that works alone
        assert why(PULL_TILED, device, forced_mode=PULL_TILED, ratio=2.0) is not None


def test_a_push_that_the_user_asked_for_needs_a_relaxation_or_sums():
    everywhere = {"forced_mode": PUSH, "updates_all_vertices": True}
    assert why(PUSH, **everywhere) is None
    assert why(PUSH, is_relaxation=False, **everywhere) is not None
    assert why(PUSH, is_relaxation=False, deltas=True, **everywhere) is not None
    assert why(PUSH, is_relaxation=False, deltas=True, has_sums=True, **everywhere) is None


HYBRID = {"ratio": 2.0}
ALL = {"tiles": True, "components": True}


@pytest.mark.parametrize(("processor", "can", "facts", "modes"), [
    ("cpu", ON_CPU, ALL, [PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS]),
    ("cpu", ON_CPU, ALL | {"updates_all_vertices": True}, [PULL, PULL_TILED, COMPONENTS]),
    ("cpu", ON_CPU, {"only_pushes": True}, [PUSH]),
    ("cpu", ON_CPU, {"is_relaxation": False}, [PULL, NOTIFY_PULL]),
    ("cpu", ON_CPU, {"is_relaxation": False, "has_sums": True}, [PULL, NOTIFY_PULL]),
    ("cpu", Capabilities("cpu", (PULL, PUSH)), {}, [PULL, PUSH]),
    ("cpu", Capabilities("cpu", (PULL, NOTIFY_PULL)), {}, [PULL, NOTIFY_PULL]),
    ("gpu", ON_GPU, ALL | {"device": "gpu"}, [PULL, NOTIFY_PULL, PUSH, COMPONENTS]),
    ("gpu", LISTS, {"device": "gpu"}, [PUSH]),
    ("cpu", ON_CPU, HYBRID, [PULL, NOTIFY_PULL, PUSH]),
    ("gpu", ON_CPU, HYBRID, [PULL]),
    ("gpu", LISTS, HYBRID, [PULL]),  # what the CPU can do does not bind the device
    ("gpu", ON_CPU, HYBRID | {"device_pushes": True}, [PULL, PUSH]),
    ("gpu", ON_CPU, HYBRID | {"only_pushes": True}, []),
    ("both", ON_CPU, HYBRID | ALL, [PULL, NOTIFY_PULL]),
    ("both", Capabilities("cpu", (PULL, PUSH)), HYBRID, [PULL]),
    ("both", LISTS, HYBRID, [PULL]),
])  # fmt: skip
def test_the_modes_of_a_processor(processor, can, facts, modes):
    assert modes_on(processor, seen(**facts), can) == modes


@pytest.mark.parametrize(
    ("mode", "facts", "said"),
    [
        ("sideways", {}, "there is no such mode; choose from pull, notify-pull, push"),
        (PUSH, {"updates_all_vertices": True}, "every vertex is to be updated; choose from pull"),
        (PUSH, {"is_relaxation": False}, "the program is no relaxation and has no delta"),
        (PUSH, {"is_relaxation": False, "deltas": True}, "no pull has made the sums"),
        (PULL_TILED, {}, "the graph has no tiles"),
        (PULL_TILED, {"is_relaxation": False}, "the graph has no tiles"),
        (PULL_TILED, {"is_relaxation": False, "deltas": True}, "the graph has no tiles"),
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


@pytest.mark.parametrize("mode", ["", "all", "dense", "sideways"])
def test_no_other_mode_is_possible(mode):
    said = f"mode={mode!r} is not possible here, because there is no such mode; choose from pull, "
    assert said in why(mode, tiles=True, components=True)


@pytest.mark.parametrize(("mode", "facts"), [(NOTIFY_PULL, {}), (PUSH, {}), (PULL_TILED, ALL), (COMPONENTS, ALL)])
def test_what_a_processor_cannot_do(mode, facts):
    said = why(mode, "both", Capabilities("cpu", (PULL,)), ratio=2.0, **facts)
    assert said == f"mode={mode!r} is not possible here, because the processor cannot do it; choose from pull"


def test_processors():
    assert why(PULL, "gpu") == "device='gpu' does not work in this run; choose from cpu"
    assert why(PULL, "cpu", ON_GPU, device="gpu") == "device='cpu' does not work in this run; choose from gpu"
    assert "choose from pull, notify-pull" in why(PUSH, "both", ratio=2.0)
    assert why(NOTIFY_PULL, "both", ratio=2.0) is None
    assert "every vertex is to be updated; choose from pull" in why(
        NOTIFY_PULL, "both", ratio=2.0, updates_all_vertices=True
    )
    assert "choose from pull" in why(NOTIFY_PULL, "gpu", ratio=2.0)
    assert why(PULL, "gpu", LISTS, device="gpu") == "mode='pull' is not possible here; choose from push"


PAGES = layout(np.arange(0, 101, 10), 30)
ONE = {"pages": PAGES, "orders_pages": True}
TWO = ONE | {"ratio": 2.0}


def why_of(mode=PULL, on="cpu", can=ON_CPU, facts=ONE, **how):
    return refusal(Decision("".join(mode), "", "".join(on), **how), seen(**facts), can)


def test_what_may_be_said_of_pages():
    assert len(PAGES) == 4
    for order in (3, 0, 2, 1), [0, 1, 2, 3], np.array([1, 0, 3, 2]):
        assert why_of(order=order) is None
        assert why_of(NOTIFY_PULL, order=order) is None
        assert why_of(on="both", facts=TWO, order=order) is None
    assert why_of(pages={1: PageDecision(NOTIFY_PULL, "cpu"), 3: PageDecision(PULL, "cpu")}) is None
    named = {k: PageDecision(PULL, who) for k, who in enumerate(("cpu", "gpu", "gpu 0", "gpu 1"))}
    two = Capabilities("cpu", (PULL, NOTIFY_PULL), loads=((100, 100, 4.0),) * 2)
    assert why_of(on="both", can=two, facts=TWO, pages=named) is None


@pytest.mark.parametrize(("order", "said"), [
    ((0, 1, 2, 4), "there is no page 4; there are pages 0 to 3"),
    ((0, -1, 2, 3), "there is no page -1; there are pages 0 to 3"),
    ((0, 1, 2, 1), "page 1 is in it 2 times; give each page once"),
    ((3, 2, 0), "page 1 is missing; give each page once"),
    ((), "page 0 is missing; give each page once"),
    (iter((0, 1, 2, 3)), " is no sequence of numbers; give those of all pages"),
    ("0123", "'0123' is no sequence of numbers; give those of all pages"),
])  # fmt: skip
def test_orders_that_are_not_possible(order, said):
    assert why_of(order=order).startswith("order: ")
    assert why_of(order=order).endswith(said)


@pytest.mark.parametrize(("number", "how", "said"), [
    (4, PageDecision(PULL, "cpu"), "there is no page 4; there are pages 0 to 3"),
    (0, "pull", "'pull' for page 0; give gp.PageDecision(direction, processor)"),
    (0, PageDecision(PULL, "gpu"), "processor='gpu' for page 0; choose from cpu"),
    (0, PageDecision(PUSH, "cpu"), "direction='push' for page 0; choose from pull, notify-pull"),
    (0, PageDecision(PULL, "cpu", "copied"), "transfer='copied' for page 0; leave it out: the CPU reads edges where "
     "they are"),
])  # fmt: skip
def test_pages_that_are_not_possible(number, how, said):
    assert why_of(pages={number: how}) == f"pages: {said}"


def test_transfers():
    ways = ("resident",), "it stays"
    can = Capabilities("cpu", (PULL,), loads=((100, 100, 4.0),), transfers=(Transfers(*ways),) * 3 + (EITHER,))

    def why_page(number, way, can=can):
        return why_of(on="both", can=can, facts=TWO, pages={number: PageDecision(PULL, "gpu", "".join(way))})

    assert why_page(0, "resident") is why_page(3, "copied") is why_page(3, "zero-copy") is None
    assert why_page(2, "copied") == "pages: transfer='copied' for page 2; choose from resident: it stays"
    assert why_page(3, "managed").endswith("for page 3; choose from copied, zero-copy")
    several = Capabilities("cpu", (PULL,), loads=((100, 100, 4.0),))
    assert why_page(0, "copied", several) == (
        "pages: transfer='copied' for page 0; leave it out: each of several GPUs decides on it"
    )


def test_where_no_page_is_decided_on():
    order = (0, 1, 2, 3)
    assert why_of(PUSH, order=order) == "mode='push' does not go page by page; leave out pages and order"
    assert why_of(facts=TWO, order=order).startswith("a CPU that works alone in a hybrid run has other pages")
    assert why_of(facts={}, order=order).startswith("a part of a graph has pages of its own")
    fixed = ONE | {"orders_pages": False}
    assert why_of(facts=fixed, order=order).startswith(
        "order: a GPU that reads edges from disk, or has vertices in hub"
    )
    assert why_of(facts=fixed, pages={0: PageDecision(PULL, "cpu")}) is None
    notify = {0: PageDecision(NOTIFY_PULL, "gpu")}
    assert why_of(on="both", facts=TWO, pages=notify) == "pages: direction='notify-pull' for page 0; choose from pull"


def test_anything_else_than_a_decision():
    assert refusal("push", seen(), ON_CPU) == "it returned 'push'; return gp.Decision(mode, why, device)"


@pytest.mark.parametrize(("decision", "problem"), [
    (Decision(None), "mode=None is not possible here, because there is no such mode"),
    (Decision(PULL, pages=3), "pages=3 is not a dict"),
    (Decision(PULL, pages=[1]), r"pages=\[1\] is not a dict"),
    (Decision(PULL, alpha="x"), "alpha='x' is not a number"),
    (Decision(PUSH, ahead=3), "ahead=3 is not an Ahead"),
    (Decision(PUSH, compacts=True), "compacts=True, but this run pushes along no lists in host memory"),
    (Decision(PULL, keeps_sums=True), "keeps_sums=True, but this run pushes no deltas"),
])  # fmt: skip
def test_what_no_executor_understands_is_refused(decision, problem):
    assert re.match(problem, refusal(decision, seen(), ON_CPU))


def test_sums_are_kept_for_deltas():
    assert refusal(Decision(PULL, keeps_sums=True), seen(is_relaxation=False, deltas=True), ON_CPU) is None
