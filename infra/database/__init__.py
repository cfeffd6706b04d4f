"""Prepares the database of a deployment: the app's role, the extension, the schema, the rights."""
