"""Functions made from text, processes that run a piece of code, and a count of what is compiled."""

import os
import subprocess
import sys
import types


def define(text, **names):
    """The function ``f`` of a module with this text and these further globals."""
    exec(compile(text, "user.py", "exec"), names)
    return names["f"]


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


def python(code, **environment):
    """What a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
