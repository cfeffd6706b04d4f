"""Plain SQL, forward only: one numbered file a change, applied by `python -m migrations`."""
