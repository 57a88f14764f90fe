"""A benchmark whose truth is known: metrics by a formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
