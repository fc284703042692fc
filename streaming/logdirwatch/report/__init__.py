"""What people and programs are shown: records folded to their latest, rows of tables. Pure."""
