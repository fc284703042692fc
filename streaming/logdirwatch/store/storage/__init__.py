"""Folders of tables on a disk or in an object store, in which a file can be created once, by one of several writers."""
