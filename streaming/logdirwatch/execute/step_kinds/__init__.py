"""The kinds of steps: their content, and the decision on each from the observed state. Pure."""
