"""A loaded language model used on text: a writer goes on with it, a reader names what is missing from it."""
