"""`python -m simulator COMMAND`: everything that the Makefile offers, for those without make, too.

It starts on whatever Python there is, makes .venv, and goes on in there.
"""

import sys

OLDEST_PYTHON = (3, 11)


def main() -> int:
    """Refuse an old Python before anything that it could not read; otherwise run the command."""
    if sys.version_info < OLDEST_PYTHON:
        print(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    from simulator.stack.commands import dispatch

    return dispatch(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
