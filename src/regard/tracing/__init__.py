"""What a model computes: recorded passes, attention weights, arithmetic of one position, word alignment, image maps."""
