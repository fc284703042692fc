"""The source on a broker's own host: its directories, its log and the kernel's."""
