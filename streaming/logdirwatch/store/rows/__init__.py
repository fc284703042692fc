"""Records as rows of the tables. DataFrame in, DataFrame out."""
