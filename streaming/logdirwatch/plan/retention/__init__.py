"""Lower retention of topics: which limits, which topics, how far, and what must stay."""
