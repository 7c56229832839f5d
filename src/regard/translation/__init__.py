"""Using a trained model on text: translating it, scoring it, and saying which words belong together."""
