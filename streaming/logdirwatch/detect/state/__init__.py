"""What is remembered of one broker and its directories, and what follows from it alone."""
