"""What keeps tables small and quick for years."""
