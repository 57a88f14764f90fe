"""Benchmarks that take no time, and their space: one parameter that matters, one that does not."""

from pathlib import Path

SPACE = """\
name = "codecs"
[[parameter]]
name = "codec"
type = "cat"
choices = ["slow", "fast"]
[[parameter]]
name = "level"
type = "int"
low = 1
high = 1000000
"""


def write_command(
    folder: Path,
    script: str,
    name: str,
    *,
    timeout: int = 60,
    program: str = "bench.sh",
    file: str = "workload.toml",
) -> Path:
    """A program and the workload's file that measures by it; both may be written again."""
    path = folder / program
    path.write_text(script)
    path.chmod(0o755)
    workload = folder / file
    workload.write_text(
        f'name = "{name}"\n[command]\nargv = ["{path}", "{{configuration}}"]\n'
        f"timeout_seconds = {timeout}\n"
    )
    return workload
