"""Studies and benchmarks can be started: what they use of the product is still there."""

import subprocess
import sys

import pytest

from tests.support import ROOT

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for room in ("studies", "benchmarks")
    for path in (ROOT / room).rglob("*.py")
    if "tests" not in path.relative_to(ROOT).parts
)


@pytest.mark.slow
def test_every_module_is_imported() -> None:
    """In a process of its own: that takes what they would wait for anyway."""
    script = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    ended = subprocess.run(
        [sys.executable, "-c", script, *MODULES],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert len(MODULES) > 60
