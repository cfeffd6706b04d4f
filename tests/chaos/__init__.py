"""Chaos: the whole system under a seeded script of misfortunes, and an auditor who then checks every promise."""
