"""What a job loads once it comes to it: a process that others are forked from has it before."""

MODULES = (
    "deap.benchmarks.tools",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.model_selection",
    "statsmodels.nonparametric.smoothers_lowess",
    "statsmodels.stats.multitest",
)
