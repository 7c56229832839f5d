"""One file for each step of the lineage, all behind the `Generator` of interface.py; catalogue.py builds them."""
