"""
A scheduler of your own
=======================

A policy that measures the cost of an edge in each mode and chooses the cheaper mode, beside the engines of the package.
"""

import matplotlib.pyplot as plt

import garaph_py as gp


class Measured(gp.Policy):
    def start(self):
        return {"pull": 1e-9, "push": 5e-9}  # seconds an edge, before anything has been measured

    def decide(self, seen):
        expected = {"pull": seen.own["pull"] * seen.edges, "push": seen.own["push"] * seen.active_edges}
        mode = min(expected, key=expected.get) if seen.is_relaxation and seen.pushes else "pull"
        return gp.Decision(mode, f"{1e3 * expected[mode]:.2g} ms expected", seen.device)

    def observe(self, own, seen, decision, done):
        if done.edges < 100_000:  # the fixed cost of an iteration would count
            return own
        return own | {decision.mode: done.seconds / done.edges}


graph = gp.rmat(18, directed=False, weights=(1, 64), seed=1)
program = gp.apps.SSSP(source=int(graph.out_degrees.argmax()))
engines = [gp.Options(engine=engine, sync=True) for engine in ("garaph", "auto", Measured())]
rounds = [[gp.run(program, graph, device="cpu", options=one).stats for one in engines] for _ in range(11)]

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for options, *runs in zip(engines, *rounds, strict=True):
    typical = sorted(runs, key=lambda stats: stats.seconds)[len(runs) // 2]  # first runs are slow: they compile
    milliseconds = [1e3 * one.seconds for one in typical.iterations]
    (line,) = ax.plot(milliseconds, marker="o", label=f"{options.engine}: {sum(milliseconds):.0f} ms")
    print(line.get_label(), *(f"{one.number} {one.mode}: {one.why}" for one in typical.iterations), sep="\n")
ax.set(xlabel="iteration", ylabel="ms", yscale="log", title="The run of median time")
ax.legend()
