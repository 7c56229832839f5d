"""Architectures: one file each, one interface, built from a config by `factory.build_model`."""
