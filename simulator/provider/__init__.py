"""A stand-in for the AI provider: an OpenAI-compatible API with a recorded one's times, quota and refusals.

Everything that decides is pure, asking neither clock nor network; `app` and `__main__` put it on a port.
"""
