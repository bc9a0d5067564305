"""`python -m remanence` is `remanence`."""

from remanence.cli import main

main()
