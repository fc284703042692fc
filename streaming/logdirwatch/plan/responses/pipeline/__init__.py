"""How the alerts about logdirwatch itself are answered."""
