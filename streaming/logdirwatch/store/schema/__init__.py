"""The tables' definitions: columns, keys, comments."""
