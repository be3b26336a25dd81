"""A CUDA context that knows which threads have made it current."""

import threading


class FakeContext(threading.local):
    """A context, which each thread has to make current; `depth` says how often it has."""

    depth = 0

    def push(self):
        self.depth += 1

    def pop(self):
        self.depth -= 1
