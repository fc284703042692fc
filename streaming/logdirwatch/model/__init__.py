"""The vocabulary every stage speaks: statuses, identities and records. Imports nothing of ours."""
