"""The frames between host and worker."""

from simulator.host.wire import Head, Wire


class Pipe:
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False


def test_wire_when_frames_come_in_pieces_then_they_are_handed_over_whole_and_in_order() -> None:
    pipe, received, lost = Pipe(), list[tuple[Head, bytes]](), list[bool]()
    sender = Wire(lambda head, body: None, lambda: None)
    sender.connection_made(pipe)  # type: ignore[arg-type] # all of a transport that it needs
    frames: list[tuple[Head, bytes]] = [({"kind": "a", "text": "ä"}, b""), ({"kind": "b"}, bytes(range(256)))]
    for head, body in frames:
        sender.send(head, body)
    receiver = Wire(lambda head, body: received.append((head, body)), lambda: lost.append(True))
    for at in range(0, len(pipe.written), 7):
        receiver.data_received(pipe.written[at : at + 7])
    assert received == frames
    receiver.connection_lost(None)
    assert lost == [True]
    receiver.send({"kind": "late"})
