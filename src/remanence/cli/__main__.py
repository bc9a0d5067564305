"""`python -m remanence.cli`, for where the command is not on the path."""

from remanence.cli import main

if __name__ == "__main__":
    main()
