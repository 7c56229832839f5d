"""The page: ES modules that run as they are, bundled by Python for a server, a single file and a notebook."""
