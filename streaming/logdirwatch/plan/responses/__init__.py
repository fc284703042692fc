"""The actions for the alerts of each rule."""
