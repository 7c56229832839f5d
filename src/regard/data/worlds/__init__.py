"""The embedded corpora: small worlds whose every sentence and picture we generate ourselves, with the truth known."""
