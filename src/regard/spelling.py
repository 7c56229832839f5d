"""One spelling of each character: a Korean syllable, or a letter with an accent, can be written as one code or several.

Our vocabularies write the composed form (tokens/text.py), files have either, and both look the same.
"""

import unicodedata


def composed(text: str) -> str:
    """The text in NFC, for whatever is compared with other text."""
    return unicodedata.normalize("NFC", text)
