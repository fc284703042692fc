"""The login of the console: who may decide there, off unless ``console.login`` is configured."""
