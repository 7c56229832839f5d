"""The HTTP server: the page, our own API, and the APIs of LibreTranslate and DeepL."""
