"""Layers that models are built from: embeddings, positions, Transformer blocks, recurrent layers, image encoders."""
