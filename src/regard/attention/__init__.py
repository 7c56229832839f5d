"""The heart: a query looks at keys, and takes a weighted sum of their values. It needs torch, and nothing else of ours.

Read in this order: visibility, scores, attend, general, multi_head, key_values, recording.
"""
