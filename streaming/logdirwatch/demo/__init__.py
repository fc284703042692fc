"""The main job on a real local cluster, told as it happens."""
