"""What a replay cannot show, since our listener is no .NET program; everything else in the scenario is compared."""

from tests.replay.scenario import Scenario

ABORT = "the abort of the .NET process is HostStop here"
SIGTERM = "SIGTERM is the host's matter; here it is the call that stops the listener"
BINDING = "the output binding's part is played by the driver"
TIMEOUT = "ShutdownTimeout is a .NET option without counterpart: replayed without"
METADATA = "that the metadata win over the body is the C# binding's doing: only the messages' course is compared"
NOT_UTF8 = "the failed binding of a parameter is the listener's own failure here"

NOTES = {
    "H4": TIMEOUT,
    "H10": TIMEOUT,
    "N1": METADATA,
    "E64": NOT_UTF8,
    **dict.fromkeys(("Cwake", "Cwake2", "F4", "L1", "L2", "L3", "L4"), BINDING),
}


def note_on(scenario: Scenario) -> str:
    """Return what to keep in mind when reading the result; empty where nothing is."""
    if scenario.name in NOTES:
        return NOTES[scenario.name]
    if scenario.exit_code == -6:
        return ABORT
    return SIGTERM if scenario.name.startswith("H") else ""
