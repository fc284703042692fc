"""Actions of a cluster whose configuration is declared elsewhere, written for who declares it."""
