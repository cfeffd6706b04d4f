"""Text to vector without a model: hashed words and letter triples, so that similar texts are near."""

import math
import re
from collections.abc import Iterator
from typing import Final
from zlib import crc32

_WORD: Final = re.compile(r"\w+")
_WORD_WEIGHT: Final = 1.0
_TRIPLE_WEIGHT: Final = 0.3
_STOP_WORDS: Final = frozenset(
    re.findall(
        _WORD,
        "a an and are as at be but by can do for from have hello hi i in is it me my not of on or please so"
        " thank thanks that the this to was we what when why with would you your",
    )
)


def embed(text: str, dimensions: int = 384) -> list[float]:
    """A unit vector of `dimensions` numbers, the same on every machine; never all zero, even for no text."""
    vector = [0.0] * dimensions
    for feature, weight in _features(text):
        place, sign = divmod(crc32(feature.encode()), 2)
        vector[place % dimensions] += weight if sign else -weight
    length = math.hypot(*vector)
    if length == 0:
        vector[crc32(text.encode()) % dimensions] = length = 1.0
    return [round(value / length, 6) for value in vector]


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text.lower()):
        if word in _STOP_WORDS:
            continue
        yield word, _WORD_WEIGHT
        padded = f"^{word}$"
        for start in range(len(padded) - 2):
            yield padded[start : start + 3], _TRIPLE_WEIGHT
