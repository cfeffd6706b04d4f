"""The host's HTTP side: routes, keys, requests and responses as the genuine host treats them (functions-host C)."""
