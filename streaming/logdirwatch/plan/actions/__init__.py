"""The kinds of actions."""
