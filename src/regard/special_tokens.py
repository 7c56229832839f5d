"""The ids that every vocabulary reserves. They are fixed, so no model, batch or loop needs them as an option."""

PADDING = 0
UNKNOWN = 1
BEGIN = 2
END = 3
MASK = 4
RESERVED = {"<pad>": PADDING, "<unk>": UNKNOWN, "<s>": BEGIN, "</s>": END, "<mask>": MASK}
