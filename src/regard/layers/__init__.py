"""What models are built from: embeddings, positions, Transformer blocks, recurrence, convolution."""
