"""The HTTP side: what clients send and get, how it is read and answered, and the document that says so."""
