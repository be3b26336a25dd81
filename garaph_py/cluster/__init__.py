"""One program over a graph in parts: each part is run where it is, and parts exchange what their mirrors need."""
