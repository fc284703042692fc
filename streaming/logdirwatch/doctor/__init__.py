"""Checks of everything that logdirwatch needs: pure judgement of what ``look`` found."""
