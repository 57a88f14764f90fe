"""A neighbour that comes and goes on one core: ``python neighbour.py SEED``. It never ends.

On for 3 s and off for 6 s in the mean, both exponential; arithmetic, memory copies and zlib take
turns.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
import zlib

ON_SECONDS, OFF_SECONDS = 3.0, 6.0


def main(seed: int) -> None:
    """Works and rests, until it is killed."""
    rng = random.Random(seed)
    source, target = memoryview(bytearray(32 * 2**20)), memoryview(bytearray(32 * 2**20))
    text = rng.randbytes(2**16)
    for kind in itertools.cycle(("arithmetic", "copy", "zlib")):
        time.sleep(rng.expovariate(1 / OFF_SECONDS))
        end = time.monotonic() + rng.expovariate(1 / ON_SECONDS)
        while time.monotonic() < end:
            if kind == "arithmetic":
                sum(range(100_000))
            elif kind == "copy":
                target[:] = source
            else:
                zlib.compress(text, 6)


if __name__ == "__main__":
    main(int(sys.argv[1]))
