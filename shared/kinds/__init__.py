"""Kinds of jobs: what work a job is made of. One module a kind; the engine in shared/worker.py knows none by name."""
