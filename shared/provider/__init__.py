"""The AI provider: the client of one call, and the gate of breaker and lane that every call passes."""
