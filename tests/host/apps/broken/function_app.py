"""An app that cannot be imported."""

raise ImportError("a package that requirements.txt forgot")
