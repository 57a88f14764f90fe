"""What is measured: draws of the space, and steps that move one option away from the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.trials.problem import Problem
from sampler.parameters.parameter import Value
from sampler.space.encoding import draw

MIB = 2**20
# One option each; what is left out is thought to act in the same way at every scale.
STEPS: tuple[tuple[str, Value], ...] = (
    ("min_level_to_compress", 2),
    ("min_level_to_compress", 3),
    ("min_level_to_compress", 4),
    ("compression_type", "none"),
    ("compression_type", "zstd"),
    ("compaction_style", "universal"),
    ("level_compaction_dynamic_level_bytes", True),
    ("max_bytes_for_level_base", 64 * MIB),
    ("max_bytes_for_level_base", 1024 * MIB),
    ("max_bytes_for_level_multiplier", 5.0),
    ("num_levels", 3),
    ("target_file_size_base", 16 * MIB),
    ("level0_file_num_compaction_trigger", 8),
    ("block_size", 16 * 2**10),
    ("max_background_jobs", 4),
    ("delayed_write_rate", 4 * MIB),
)


@dataclass(frozen=True)
class Configurations:
    """The configurations of a study, the same at every scale.

    Attributes:
        problem: At any scale: values are at full scale.
        draws: How many points of a scrambled Sobol sequence.
        seed: Of the sequence.
    """

    problem: Problem
    draws: int
    seed: int

    def baseline(self) -> dict[str, Value]:
        """The library's defaults."""
        return self.problem.space.default_configuration()

    def draw(self, index: int) -> dict[str, Value]:
        """A draw from the whole space, within the default's memory."""
        names = self.problem.space.names
        point = draw("sobol", index, n=self.draws, dimensions=len(names), seed=self.seed)
        return self.problem.configuration(dict(zip(names, map(float, point), strict=True)))

    def step(self, index: int) -> dict[str, Value]:
        """The baseline with one option moved."""
        space = self.problem.space
        name, value = STEPS[index]
        moved = {p.name: space.context[p.name] for p in space.parameters} | {name: value}
        return {n: v for n, v in moved.items() if space.is_active(n, space.complete(moved))}
