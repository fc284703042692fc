"""A cluster as arrays, the task, and the neutral CSV of both."""
