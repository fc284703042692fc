"""Views for people and programs: records reduced to their latest revision, rows of tables. Pure."""
