"""What two OPTIONS files have in common when they say the same."""

from collections.abc import Mapping

from sampler.rocksdb.options_file import VERSION, OptionsFile


def settings_of(options: OptionsFile) -> Mapping[str, Mapping[str, str]]:
    """Section by section, without those that are empty and the one that names the version."""
    return {t: dict(keys) for t, keys in options.sections.items() if keys and t != VERSION}
