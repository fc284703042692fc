"""Actions of clusters that Strimzi runs: its resources are changed, not what it makes of them."""
