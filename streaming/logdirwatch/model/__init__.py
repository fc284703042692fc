"""The vocabulary of every stage: statuses, identities and records. Imports nothing else of ours."""
