"""Actions on topics: their retention, their records, their producers."""
