"""The responses to alerts about logdirwatch itself."""
