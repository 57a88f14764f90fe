"""`rocktune autotune`: compaction on, off, or switched by how busy the disk is."""

from pathlib import Path
from typing import Annotated

from typer import Option

from cli.options.exits import Exit, leave
from cli.render.screen import bare_table, print_json, screen
from sampler.common.errors import InputError
from sampler.common.text import parse_bytes

EXAMPLES = """
Examples:
  rocktune autotune                                   35 s of a sine wave under each policy
  rocktune autotune --policy tuned --policy duty --shape 700 --seconds 70 --out curves
  rocktune autotune --shape 350 --seconds 350         the wave at its full length
  rocktune autotune --low 25MB --high 100MB           for a slower disk; --capacity follows
"""
_COMPARED = ("on", "off", "tuned", "duty")
_SHARE_OF_HIGH = 0.95  # 190 of 200 MB/s: the thesis's capacity and its wave's peak


def autotune_command(
    policy: Annotated[
        list[str] | None,
        Option(help="on, lifted, off, tuned or duty; repeatable. Default: all but lifted."),
    ] = None,
    shape: Annotated[str, Option(help="Wave shape: 350, 700 or 1000 s in the thesis.")] = "350",
    seconds: Annotated[
        float | None, Option(help="Length of the wave, in seconds. Default: a tenth of --shape.")
    ] = None,
    low: Annotated[str, Option(help="Lowest write rate of the wave, bytes/s.")] = "50MB",
    high: Annotated[str, Option(help="Peak write rate of the wave, bytes/s.")] = "200MB",
    tail: Annotated[str, Option(help="Write rate after the wave, bytes/s.")] = "10MB",
    capacity: Annotated[
        str | None, Option(help="Disk capacity (100%), bytes/s. Default: 95% of --high.")
    ] = None,
    low_mark: Annotated[float, Option(help="tuned: flush share at which to switch.")] = 0.5,
    high_mark: Annotated[float, Option(help="tuned: share of all background writes.")] = 0.9,
    full_mark: Annotated[float, Option(help="duty: flush share that stops compaction.")] = 1.0,
    step: Annotated[
        float | None, Option(help="Interval of shares, in seconds. Default: 10 at full length.")
    ] = None,
    value_size: Annotated[int, Option(help="Value size in bytes.")] = 100_000,
    rate_limit: Annotated[
        str | None, Option(help="RocksDB's limit of background writes, bytes/s. Default: none.")
    ] = None,
    read_seconds: Annotated[float, Option(help="Seconds of each kind of read; 0: none.")] = 3.0,
    direct_reads: Annotated[bool, Option(help="Bypass the page cache in reads.")] = True,
    recovery_seconds: Annotated[float, Option(help="Maximum wait for recovery, seconds.")] = 600.0,
    seed: Annotated[int, Option(help="Random seed of keys and values.")] = 1,
    configuration: Annotated[
        Path | None, Option(help="JSON file with policy and marks (space warlo).")
    ] = None,
    out: Annotated[Path | None, Option(help="Folder for plots and figures.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print figures and curves as JSON.")] = False,
    as_metrics: Annotated[
        bool, Option("--metrics", help="Print one policy's metrics, for a command workload.")
    ] = False,
) -> None:
    """Compares compaction policies under a sine wave of writes."""
    from jobs.autotune.compare import run_alone, table, write_autotune_files
    from jobs.autotune.request import (
        FULL_SECONDS,
        AutotuneRequest,
        LoadShape,
        Marks,
        configured,
        read_configuration,
    )
    from jobs.autotune.run import command_metrics, document
    from sampler.bench.settings import load_settings

    def size(text: str | None, option: str, usual: float = 0.0) -> float:
        return usual if text is None else parse_bytes(text, field=option)

    wave = LoadShape(
        name=shape,
        seconds=FULL_SECONDS.get(shape, 0.0) / 10 or 35.0 if seconds is None else seconds,
        low=size(low, "--low"),
        high=size(high, "--high"),
        tail=size(tail, "--tail"),
    )
    marks = Marks(
        capacity=size(capacity, "--capacity", _SHARE_OF_HIGH * wave.high),
        low=low_mark,
        high=high_mark,
        full=full_mark,
        step=wave.step if step is None else step,
    )
    runs = [
        AutotuneRequest(
            policy=name,
            shape=wave,
            marks=marks,
            value_size=value_size,
            rate_limit=size(rate_limit, "--rate-limit"),
            read_seconds=read_seconds,
            direct_reads=direct_reads,
            recovery_seconds=recovery_seconds,
            seed=seed,
        )
        for name in dict.fromkeys(policy or (("tuned",) if as_metrics else _COMPARED))
    ]
    if configuration is not None:
        given = read_configuration(configuration)
        runs = list(dict.fromkeys(configured(run, given) for run in runs))
    if as_metrics and len(runs) != 1:
        raise InputError("--metrics", "works with one run; give one --policy")
    settings = load_settings()
    console = screen(stderr=True)
    documents = []
    for asked in runs:
        run = run_alone(asked, settings, told=console.print)
        documents.append(document(run))
        if as_metrics:
            found = command_metrics(run)
            if found is None:
                leave(f"did not recover within {recovery_seconds:g} s", Exit.TOOL_FAILED)
            print_json(found)
    if out is not None:
        for path in write_autotune_files(out, documents):
            console.print(str(path))
    if as_json:
        print_json({"schema": 1, "runs": documents})
    elif not as_metrics:
        shown = bare_table(("",), [asked.policy for asked in runs])
        shown.columns[0].no_wrap = True
        for row in table(documents):
            shown.add_row(*row)
        screen().print(shown)
