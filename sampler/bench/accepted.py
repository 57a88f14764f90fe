"""What a build of RocksDB takes of an OPTIONS file, found by letting it open a database."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.options.option_facts import kind_of, option_facts
from sampler.options.options_file import VERSION, OptionsFile, leaves, without_leaf

_WORD = re.compile(r"\w+(?:\.\w+)*")
# The last form is that of 10.4 and later (configurable.cc).
_UNKNOWN = re.compile(r"(?:Could not find|Unrecognized) option|option not recognized")
_PREFACE = re.compile(r"^Unable to load options file \S+ --- |^open error: ")


@dataclass(frozen=True, kw_only=True)
class RefusedOption:
    """An option of a file that a build does not take."""

    section: str
    key: str
    value: str
    said: str  # RocksDB's own words

    @property
    def unknown(self) -> bool:
        """Whether the build has no such option; otherwise it refuses the value."""
        return _UNKNOWN.search(self.said) is not None


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """What a build takes of a file."""

    part: OptionsFile | None  # the file without what is refused; None where that could not be told
    effect: OptionsFile | None  # the values in effect with that part; None where there is none
    refused: tuple[RefusedOption, ...]  # what had to be left out
    said: str = ""  # RocksDB's words where nothing could be left out to make it work, else empty


def accepted_part(build: InstalledDbBench, options: OptionsFile) -> Accepted:
    """The file without the options that a build complains of, found by trying.

    RocksDB names one option at a time; each is left out until it opens. Of a structure only the
    field goes.
    """
    refused: list[RefusedOption] = []
    for _ in range(1 + sum(1 for _ in leaves(options))):
        tried = try_options(build.program, options)
        if tried.options is not None:
            return Accepted(part=options, effect=tried.options, refused=tuple(refused))
        said = _PREFACE.sub("", tried.complaint)
        found = _named_in(said, options) or _found_by_halving(build, options, said)
        if found is None:
            break
        section, key, value = found
        refused.append(RefusedOption(section=section, key=key, value=value, said=said))
        options = without_leaf(options, section, key)
    return Accepted(part=None, effect=None, refused=tuple(refused), said=said)


def _named_in(complaint: str, options: OptionsFile) -> tuple[str, str, str] | None:
    """The option of the file that a complaint is about.

    RocksDB names a key, a field with or without its structure, or says it in words of its own. Of
    an unknown structure it names no field. Where a key stands in two sections, the one that
    RocksDB does not know is where no version has it.
    """
    words = _WORD.findall(complaint)
    named = [
        (section, key, text)
        for (section, key), text in leaves(options)
        if key in words or key.rpartition(".")[2] in words
    ] or [
        (section, key, text)
        for section, keys in options.sections.items()
        for key, text in keys.items()
        if key in words
    ]
    unknown = _UNKNOWN.search(complaint) is not None
    named.sort(
        key=lambda each: (
            each[1] not in words,
            unknown and is_known(each[0], each[1]),
            each[1].count("."),
        )
    )
    return named[0] if named else None


def is_known(section: str, key: str) -> bool:
    """Whether any version of RocksDB has this key, or this field, in such a section."""
    return (kind_of(section), key) in option_facts()


def _found_by_halving(
    build: InstalledDbBench, options: OptionsFile, said: str
) -> tuple[str, str, str] | None:
    """The option with which a complaint that names none begins; None where none was found."""
    sections = {title: keys for title, keys in options.sections.items() if title != VERSION}
    keys = [(section, key) for section, texts in sections.items() for key in texts]

    def complains(kept: Collection[tuple[str, str]]) -> bool:
        part = OptionsFile({
            section: {key: text for key, text in texts.items() if (section, key) in kept}
            for section, texts in options.sections.items()
        })  # fmt: skip
        tried = try_options(build.program, part)
        return tried.options is None and _PREFACE.sub("", tried.complaint) == said

    low, high = 0, len(keys)  # the first ``high`` keys bring the complaint, the first ``low`` none
    if complains(()):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if complains(keys[:middle]) else (middle, high)
    section, key = found = keys[high - 1]
    alone = complains([each for each in keys if each != found])
    return None if alone else (section, key, options.sections[section][key])
