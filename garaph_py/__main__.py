"""``python -m garaph_py`` is the command ``garaph``."""

from .cli import main

if __name__ == "__main__":
    main()
