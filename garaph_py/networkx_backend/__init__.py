"""A backend of NetworkX: its functions, called with ``backend="garaph"``, run here.

NetworkX finds it by the entry points in setup.cfg. It reads `info` whenever it is imported, and loads `backend` with
the first call that runs here. Nothing else of the package imports NetworkX.
"""
