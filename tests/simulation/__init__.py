"""A deterministic simulation of the whole service: one integer seed is one run (docs/reliability.md, "Simulation")."""
