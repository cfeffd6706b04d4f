"""Microsoft's queue listener, recorded on 112 occasions, against ours: the same inputs, the same course of events."""
