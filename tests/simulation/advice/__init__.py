"""Drawn small clusters: what is advised for a directory that fills, carried out, against everything that could be done.

The model of disks, retention and copies (``world``) and the search (``search``) share no code with the planner; the
laws (``laws``) compare what both of them reach.
"""
