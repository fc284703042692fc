"""A read-only web page over the tables, for the demo and for small teams."""
