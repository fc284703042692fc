"""``python -m logdirwatch_lab``."""

from logdirwatch_lab.main import main

if __name__ == "__main__":
    main()
