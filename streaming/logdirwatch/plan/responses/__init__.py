"""Which actions answer the alerts of a rule."""
