"""Simulated runs: the scheduling code of real runs decides; a model of a machine says how long pages take."""

from .machine import Machine, read_machine, write_machine
from .simulate import Simulation, simulate
from .workload import Activity, Workload

__all__ = ["Activity", "Machine", "Simulation", "Workload", "read_machine", "simulate", "write_machine"]
