"""``logdirwatch report``, and what it reads, which the console shows too."""
