"""What the queries store and store_inventory do with a batch."""
