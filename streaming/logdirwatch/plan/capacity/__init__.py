"""How full log directories get, how fast they fill, and how fast replicas may be copied."""
