"""A cluster as arrays, the task of a plan, and the CSV format of both."""
