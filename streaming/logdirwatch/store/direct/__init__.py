"""Tables in a local folder, read and written by the driver itself, without Spark jobs or plans."""
