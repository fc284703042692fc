"""A deterministic simulation of the whole service: one integer seed is one run (docs/reliability.md, "Simulation").

A part, such as ``autopilot``, is a class on a ``Host`` that runs product code: its loop in a ``Process``, or its steps
by ``Host.after``. ``run.Simulation`` starts it, ``story.KINDS`` has its faults, ``promises`` what it promises, ``law``
checks that, and ``defects`` plants one that a seed must find.
"""
