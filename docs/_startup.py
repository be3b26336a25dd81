"""What a notebook of the site runs first: it works in the root of the checkout, as a reader does."""

import os
from pathlib import Path

os.chdir(Path(os.environ["PYTHONSTARTUP"]).parent.parent)
