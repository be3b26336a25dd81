"""Simulated runs: the code that schedules real runs, over a model of a machine and the sizes of pages."""

from .machine import Machine, read_machine, write_machine
from .simulate import Simulation, simulate
from .workload import Activity, Workload

__all__ = ["Activity", "Machine", "Simulation", "Workload", "read_machine", "simulate", "write_machine"]
