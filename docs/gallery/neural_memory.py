"""
A network that remembers pictures
=================================

A Hopfield network stores three pictures in the weights between its neurons. If it is shown one of them with 35 % noise,
it relaxes towards the stored picture.
"""

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp

side, rng = 24, np.random.default_rng(1)
y, x = np.mgrid[:side, :side] - (side - 1) / 2
disc, cross = np.hypot(x, y) < 8, np.abs(np.abs(x) - np.abs(y)) < 3
pictures = [disc, cross, np.maximum(np.abs(x), np.abs(y)) % 6 < 3]
patterns = np.array([np.where(picture, 1.0, -1.0).ravel() for picture in pictures])

neuron = np.arange(side * side)
sources, targets = (ends.ravel() for ends in np.meshgrid(neuron, neuron, indexing="ij"))
weights = 4 * (patterns.T @ patterns).ravel() / len(neuron)
graph = gp.from_edges(sources, targets, weights)

fig, axes = plt.subplots(2, 3, figsize=(7, 5), layout="constrained")
for column, pattern in zip(axes.T, patterns, strict=True):
    noise = rng.choice([-1.0, 1.0], len(pattern))
    shown = np.where(rng.random(len(pattern)) < 0.35, noise, pattern)
    program = gp.apps.NeuralNetwork(initial=shown, tolerance=1e-3)
    recalled = gp.run(program, graph).column()
    for ax, image, title in zip(column, (shown, recalled), ("shown", "recalled"), strict=True):
        ax.imshow(image.reshape(side, side), cmap="gray", vmin=-1, vmax=1)
        ax.set_title(title)
        ax.axis("off")
plt.show()
