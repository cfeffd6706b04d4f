"""Webhooks: how they are signed, which addresses they may call, and how one is sent."""
