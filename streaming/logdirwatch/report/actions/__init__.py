"""Actions and plans for people: lists, files, effects, accuracy."""
