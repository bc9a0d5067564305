"""What is one paper's and nobody else's, a folder for each paper.

A paper's folder registers its networks, trainings and experiments, and holds all that these bring:
the profiles that they are run by, tables, figures and claims. It plugs in by an entry point, as
anybody's package does; no other room imports it. Importing it is cheap; an experiment is loaded
when it is asked for.
"""
