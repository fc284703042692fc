"""Actions for clusters managed by Strimzi: they change its resources, not what it derives from them."""
