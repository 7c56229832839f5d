"""The ids that every vocabulary reserves. They are fixed, so that no model, batch or loop has to be told."""

PADDING = 0
UNKNOWN = 1
BEGIN = 2
END = 3
MASK = 4

RESERVED = {"<pad>": PADDING, "<unk>": UNKNOWN, "<s>": BEGIN, "</s>": END, "<mask>": MASK}
