"""Actions and plans for people: lists, files, what they do, how good they were."""
