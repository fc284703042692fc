"""What is documented from the code: pages, the configuration's keys, the records' schemas."""
