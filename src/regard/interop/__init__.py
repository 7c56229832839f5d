"""Other programs' formats, one file each, in and out; `import_model.py` detects the format."""
