"""Tables in a local folder, read and written by the driver itself: no Spark job, no plan."""
