"""Streams and events are made once for each kind, and used by one run after the other."""

from types import SimpleNamespace

from garaph_py.executor.gpu.handles import NON_BLOCKING, Handles


def test_a_second_run_makes_none():
    made = []

    def maker(kind):
        return lambda flags: made.append((kind, flags)) or object()

    handles = Handles(SimpleNamespace(Stream=maker("stream"), Event=maker("event")))
    first = [handles.stream(), handles.stream(), handles.stream(NON_BLOCKING), handles.event(), handles.event(2)]
    assert len(set(first)) == len(made) == 5
    assert made[2] == ("stream", NON_BLOCKING)
    handles.begin()
    assert [handles.stream(NON_BLOCKING), handles.event(2)] == [first[2], first[4]]
    assert [handles.stream() for _ in range(3)][:2] == first[:2]
    assert len(made) == 6
    handles.close()
    assert handles.stream() not in first
