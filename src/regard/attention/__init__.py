"""Attention: a query attends to keys and gets a weighted sum of their values. Only torch is needed.

Read in this order: visibility, scores, attend, attend_with_score, attention_layer, multi_head, key_value_cache, hooks.
"""
