"""How the queries ``store`` and ``store_inventory`` write a batch."""
