"""Mutants that no test can catch, since they change nothing that anybody sees: the lines before and after, and why."""

EQUIVALENT: dict[tuple[str, str], str] = {}
