"""What is one paper's and nobody else's, a folder for each paper.

A paper's folder registers its experiments, and holds all that they bring: the profiles that they
are run by, tables, figures and claims. No other room but the command line imports it. Importing it
is cheap; an experiment is loaded when it is asked for.
"""

from remanence.papers import multistability as multistability
