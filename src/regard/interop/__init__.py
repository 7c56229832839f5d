"""Other programs' formats, one file each: CTranslate2, Marian of the transformers library, EfficientNet weights."""
