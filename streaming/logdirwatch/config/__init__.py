"""What every section of the configuration is made of."""
