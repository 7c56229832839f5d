"""One process that answers over HTTP: the page, our own API, and the APIs that existing clients speak already."""
