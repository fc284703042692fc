"""Records as rows of the tables: DataFrame in, DataFrame out, and one by one for the driver."""
