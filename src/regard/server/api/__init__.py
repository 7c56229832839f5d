"""The HTTP APIs: our own under /api/v1, LibreTranslate's and DeepL's."""
