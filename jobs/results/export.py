"""The OPTIONS file that is handed over: at production scale, tried with the real db_bench."""

from jobs.results.output_folder import OPTIONS
from sampler.bench.bench_plan import BenchPlan, effective_values, unmet_values
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.common.errors import InputError
from sampler.profile.application_objects import as_it_was
from sampler.rocksdb.application import FIRST, application_steps
from sampler.rocksdb.changes import changes_to, difference, patched
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import measured_part, without_derived
from sampler.rocksdb.options_file import OptionsFile, format_options, leaves
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import Configuration

_UNTRIED_VERSION = "7.8.3"  # the catalogue's, where no db_bench is at hand


class ExportRefusedError(RuntimeError):
    """RocksDB does not take the file, or not as it was meant; the reason is in its words."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(reason)
        self.text = text


def export_options(
    plan: BenchPlan,
    installed: InstalledDbBench | None,
    configuration: Configuration,
    comments: list[str],
) -> str:
    """The text of the OPTIONS file at full scale, once the real db_bench has loaded it.

    Its first lines name what the program must set itself; ``comments`` follow. A user's own file
    stays as it is, byte for byte, but for what has changed in it. With a benchmark of the user's
    own there may be no db_bench installed: then the file is not tried.

    Raises:
        ExportRefusedError: RocksDB refuses it, or a value in effect is not the intended one.
    """
    options = plan.export(configuration)
    version = installed.version if installed else _UNTRIED_VERSION
    said = [*comments, *(f"Not measured as in your file: {note}" for note in plan.notes)]
    if plan.text is None:
        # An older RocksDB cannot read the version of a file of the user's that is newer.
        mine = tuple(int(part) for part in version.split(".") if part.isdecimal())
        own = plan.baseline_file.version
        written = version if own is None or own <= mine else ".".join(map(str, own))
        text = format_options(options, rocksdb_version=written, comments=said)
    else:
        text, options = _patched(plan.text, options, said)
    text = _with_steps(text)
    if installed is None:
        return text
    part = measured_part(plan.taken(options), 1)
    tried = try_options(installed.program, part)
    if tried.options is None:
        raise ExportRefusedError(f"RocksDB {version} rejects the file: {tried.complaint}", text)
    # A value that equals the default is not in the file, and can be changed all the same.
    _, repaired = effective_values(tried.options, configuration, plan.space, scale=1)
    # What the user's own file says and nobody moved is the user's.
    values = plan.space.complete(configuration)
    moved = {n: p for n, p in catalogue().items() if plan.moved(n, values)}
    changed = dict.fromkeys([*unmet_values(part, tried.options, moved), *repaired])
    if changed:
        reason = f"RocksDB {version} changes the file: {'; '.join(changed)}"
        raise ExportRefusedError(reason, text)
    return text


def _with_steps(text: str) -> str:
    """The file with what the program must set itself at its top."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [FIRST, *(f"- {step}" for step in application_steps(text))]
    return "".join(f"# {line}{newline}" for line in lines) + text


def _patched(own: str, wanted: OptionsFile, comments: list[str]) -> tuple[str, OptionsFile]:
    """The user's text with what is wanted of the family in it, and what that says."""
    family = wanted.family
    if own.startswith("\ufeff"):
        comments = [*comments, "The byte order mark of your file is removed: RocksDB refuses it"]
    changes = changes_to(read_user_options(own, family=family), wanted)
    text = patched(own, changes, comments=comments)
    try:
        found = read_user_options(text, family=family)
    except InputError as error:
        problem = f"your OPTIONS file cannot be read after the changes: {error.problem}"
        raise ExportRefusedError(problem, text) from None
    said, meant = (dict(leaves(without_derived(each))) for each in (found, wanted))
    wrong = [place for place in said | meant if said.get(place) != meant.get(place)]
    if wrong:
        keys = ", ".join(key for _, key in wrong)
        problem = f"your OPTIONS file has lines that cannot be changed: {keys}"
        raise ExportRefusedError(problem, text)
    return text, found


def difference_of(own: str | None, options: str | None) -> str | None:
    """What a job's OPTIONS file changes in the user's own; None where either is not there."""
    if own is None or options is None:
        return None
    return difference(as_it_was(own), options, names=("OPTIONS", OPTIONS))
