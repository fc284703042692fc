"""Actions on a broker, its disks and its host."""
