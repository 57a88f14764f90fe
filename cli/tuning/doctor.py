"""`rocktune doctor`: is this machine fit to measure on?"""

import signal
from typing import Annotated

import typer

from cli.options.exits import Exit, complain
from cli.options.job_options import Baseline, Workload
from cli.render.diagnosis_screen import DiagnosisScreen
from cli.render.screen import json_alone, print_json, screen
from jobs.doctor.examination import Fitness, examine
from jobs.doctor.noise import USUAL_TRIALS
from jobs.specification.named_files import specify
from sampler.runner.settings import load_settings

EXAMPLES = """
Examples:
  rocktune doctor                    all checks, and ten runs of the baseline
  rocktune doctor --quick            without the runs: some seconds
  rocktune doctor --quick --json     for scripts: one JSON document
  rocktune doctor --workload load --trials 400    what can that job prove here?
"""


def doctor_command(
    workload: Workload = "load-quick",
    space: Annotated[str, typer.Option(help="A parameter space's name or TOML file.")] = "default",
    baseline: Baseline = None,
    runs: Annotated[int, typer.Option(help="Runs of the baseline.", min=2, max=1000)] = 10,
    trials: Annotated[
        int | None,
        typer.Option(help="Trials of the job in question; else 90, 400 and 1000 are told."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Without runs of the baseline, and without waiting.")
    ] = False,
    as_json: Annotated[bool, json_alone("One JSON document")] = False,
) -> int:
    """Tells whether this machine is fit to measure on, and what to do about it.

    Looks at db_bench, processors, other load, memory and disk, then runs the baseline
    ten times and tells how small a change can be proven.
    docs/how-to/check-the-machine.md explains it.

    Exit status: 0 fit (notes and warnings allowed), 3 not fit (a problem was found),
    2 bad input, 1 the tool failed, 130 interrupted.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    specification = specify(workload=workload, space=space, baseline=baseline, trials=trials)
    shown = DiagnosisScreen(screen(stderr=as_json), screen(stderr=True), runs=runs)
    try:
        with shown:
            diagnosis = examine(
                specification,
                load_settings(),
                runs=0 if quick else runs,
                budgets=USUAL_TRIALS if trials is None else (trials,),
                observer=shown.observer,
            )
    except KeyboardInterrupt:
        complain("interrupted")
        return Exit.INTERRUPTED
    shown.sum_up(diagnosis)
    if as_json:
        print_json(diagnosis.document())
    return Exit.ANSWER_IS_NO if diagnosis.fitness is Fitness.NOT_FIT else Exit.DONE
