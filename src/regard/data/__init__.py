"""From files to batches: readers, filters, a store of token ids on disk, and the order of training; without torch."""
