"""A benchmark whose truth is known: metrics by a formula, with noise, after a sleep.

It stands in for ``db_bench`` where many run side by side on one machine and shall not disturb each
other. ``python known_truth.py CONFIGURATION SECONDS`` is the command of a workload: it reads the
configuration, sleeps so many seconds for the default (a better one is quicker), prints metrics. It
needs the standard library alone.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_IDLE = 6
SPACE: Mapping[str, Any] = {
    "name": "known-truth",
    "parameter": [
        {"name": "codec", "type": "cat", "choices": ["slow", "fast", "none"]},
        *(
            {"name": name, "type": "float", "low": 0.0, "high": 1.0, "default": 0.5}
            for name in ("buffer", "trigger", "level", "ratio", "files")
        ),
        *(
            {"name": f"idle_{n}", "type": "float", "low": 0.0, "high": 1.0, "default": 0.5}
            for n in range(_IDLE)
        ),
    ],
}
# Standard deviations of the logarithms: byte counters are steady, clocks are not.
_NOISE = {"waf": 0.005, "sa": 0.005, "time": 0.04, "rate": 0.04}
DEFAULT: Mapping[str, Any] = {
    each["name"]: each.get("default", "slow") for each in SPACE["parameter"]
}


def truth(configuration: Mapping[str, Any]) -> dict[str, float]:
    """The metrics without noise; of twelve parameters six matter, and two of them together."""
    codec = configuration["codec"]
    buffer, trigger, level, ratio, files = (
        float(configuration[name]) for name in ("buffer", "trigger", "level", "ratio", "files")
    )
    waf = 0.8 * (buffer - 0.85) ** 2 + 0.5 * (trigger - 0.2) ** 2 - 0.4 * (buffer - 0.5) * ratio
    waf += {"slow": 0.25, "fast": 0.0, "none": 0.4}[codec]
    sa = 0.3 * (level - 0.7) ** 2 + {"slow": 0.0, "fast": 0.05, "none": 0.5}[codec]
    slow = 0.6 * (level - 0.8) ** 2 + 0.4 * (files - 0.3) ** 2 + 0.3 * (codec == "slow")
    slow += 0.3 * waf
    return {
        "waf": 3.0 * math.exp(waf),
        "sa": 1.2 * math.exp(sa),
        "time": 2.0 * math.exp(slow),
        "rate": 1e5 * math.exp(-slow),
    }


def measured(configuration: Mapping[str, Any], chance: random.Random) -> dict[str, float]:
    """The metrics as one run has them."""
    return {
        name: value * math.exp(chance.gauss(0, _NOISE[name]))
        for name, value in truth(configuration).items()
    }


def _run(path: str, seconds: float) -> None:
    configuration = json.loads(Path(path).read_text(encoding="utf-8"))
    metrics = measured(configuration, random.Random())
    time.sleep(seconds * metrics["time"] / truth(DEFAULT)["time"])
    print(json.dumps(metrics))


if __name__ == "__main__":
    _run(sys.argv[1], float(sys.argv[2]))
