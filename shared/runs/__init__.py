"""A run: its clocks, lease and heartbeat, the desk its steps work at, and how it can end."""
