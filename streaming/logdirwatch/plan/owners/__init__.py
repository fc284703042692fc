"""Actions for clusters whose configuration is declared elsewhere, adapted to whatever applies it."""
