"""The login of the console, off unless ``console.login`` is configured: only its users can decide."""
