"""Runs a program over a graph in parts, each in a worker; after each superstep, parts send one another new values."""
