"""``logdirwatch report``, and its reading, which the console uses too."""
