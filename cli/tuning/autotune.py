"""`rocktune autotune`: compaction on, off, or switched by how busy the disk is."""

from pathlib import Path
from typing import Annotated

from typer import Option

from cli.options.exits import Exit, leave
from cli.render.screen import bare_table, print_json, screen
from sampler.common.byte_size import parse_bytes
from sampler.common.errors import InputError

EXAMPLES = """
Examples:
  rocktune autotune                                   35 s of a sine wave under each policy
  rocktune autotune --policy tuned --policy duty --shape 700 --seconds 70 --out curves
  rocktune autotune --shape 350 --seconds 350         the whole wave of the thesis
  rocktune autotune --low 25MB --high 100MB           a slower disk; --capacity follows
"""
_COMPARED = ("on", "off", "tuned", "duty")
_SHARE_OF_HIGH = 0.95  # 190 of 200 MB/s: the thesis's capacity and its wave's peak


def autotune_command(
    policy: Annotated[
        list[str] | None,
        Option(help="on, lifted, off, tuned or duty; repeatable. All but lifted if none."),
    ] = None,
    shape: Annotated[str, Option(help="350, 700 or 1000: seconds in the thesis.")] = "350",
    seconds: Annotated[
        float | None, Option(help="How long it takes here; a tenth of the shape's.")
    ] = None,
    low: Annotated[str, Option(help="The wave's trough, bytes a second.")] = "50MB",
    high: Annotated[str, Option(help="Its peak.")] = "200MB",
    tail: Annotated[str, Option(help="The rate after the wave.")] = "10MB",
    capacity: Annotated[
        str | None, Option(help="What counts as 100% of the disk; 95% of --high.")
    ] = None,
    low_mark: Annotated[float, Option(help="tuned: the flushes' share to switch at.")] = 0.5,
    high_mark: Annotated[float, Option(help="tuned: the share of all.")] = 0.9,
    full_mark: Annotated[float, Option(help="duty: no compaction at this share.")] = 1.0,
    step: Annotated[
        float | None, Option(help="Seconds that shares are measured over; 10 at full length.")
    ] = None,
    value_size: Annotated[int, Option(help="Bytes of a value.")] = 100_000,
    rate_limit: Annotated[
        str | None, Option(help="RocksDB's limit of background writes, bytes a second.")
    ] = None,
    read_seconds: Annotated[float, Option(help="Of reads, each kind; 0: none.")] = 3.0,
    direct_reads: Annotated[bool, Option(help="Read past the page cache.")] = True,
    recovery_seconds: Annotated[float, Option(help="The longest wait for it.")] = 600.0,
    seed: Annotated[int, Option(help="Of keys and values.")] = 1,
    configuration: Annotated[
        Path | None, Option(help="A JSON file of policy and marks (space warlo).")
    ] = None,
    out: Annotated[Path | None, Option(help="A folder for plots and figures.")] = None,
    as_json: Annotated[bool, Option("--json", help="All figures and curves.")] = False,
    as_metrics: Annotated[
        bool, Option("--metrics", help="One policy's metrics, as a [command] prints them.")
    ] = False,
) -> None:
    """Loads a database with a sine wave of writes under each policy, and compares them."""
    from jobs.autotune.compare import run_alone, table, write_autotune_files
    from jobs.autotune.policy import Marks
    from jobs.autotune.request import (
        FULL_SECONDS,
        AutotuneRequest,
        LoadShape,
        configured,
        read_configuration,
        scaled_step,
    )
    from jobs.autotune.run import command_metrics, document
    from sampler.runner.settings import load_settings

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
        step=scaled_step(wave) if step is None else step,
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
        raise InputError("--metrics", "is of one run; give one --policy")
    settings = load_settings()
    console = screen(stderr=True)
    documents = []
    for asked in runs:
        run = run_alone(asked, settings, told=console.print)
        documents.append(document(run))
        if as_metrics:
            found = command_metrics(run)
            if found is None:
                leave(f"not recovered within {recovery_seconds:g} s", Exit.TOOL_FAILED)
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
