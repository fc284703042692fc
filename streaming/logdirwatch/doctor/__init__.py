"""Whether everything that logdirwatch needs is as it should be: pure judgement of what ``look`` found out."""
