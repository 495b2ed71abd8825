"""The package against a real cluster. `SHOAL_BINARY` names the server's program."""
