"""
Two factions of a karate club
=============================

Zachary's karate club split between its instructor (vertex 0) and its president (vertex 33). Hold one at 1 volt and
the other at 0, and let every friendship conduct: members above half a volt stand with the instructor.
"""

import matplotlib.pyplot as plt
import networkx as nx

import garaph_py as gp

club = nx.karate_club_graph()
result = gp.run(gp.apps.CircuitSimulation(fixed={0: 1.0, 33: 0.0}), gp.from_networkx(club))
volts = result.to_dict()

joined = nx.get_node_attributes(club, "club")
right = sum((volts[v] > 0.5) == (joined[v] == "Mr. Hi") for v in club)
print(f"{right} of {len(club)} members are with the faction that they really joined")

# %%

plt.figure(figsize=(7, 5), layout="constrained")
places = nx.spring_layout(club, seed=4)
colours = [volts[v] for v in club]
nx.draw_networkx(club, places, node_color=colours, cmap="coolwarm", edge_color="silver", font_size=9)
plt.axis("off")
plt.show()
