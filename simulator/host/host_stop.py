"""The one exception with which a listener ends the whole host."""


class HostStop(Exception):
    """The host must end itself, as the genuine one does; its text is the reason for the log."""
