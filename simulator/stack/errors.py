"""What goes wrong on the user's machine, said in one line that tells what to do."""


class StackError(Exception):
    """The stack cannot start or go on; the message is for the person at the keyboard."""
