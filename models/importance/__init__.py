"""Which parameters matter: random forests, analyses of variance, and how sure the order is.

Everywhere ``features`` are the settings, a row a trial. A ``target`` is a metric in any unit,
shape ``(n_trials,)``, NaN where it was not measured; ``targets`` are several by name. Importances
have shape ``(n_parameters,)`` in the order of ``features.names``; more is more important. The same
seed gives the same result. ``ValueError``: shapes disagree, a target is infinite, or a count is
below 1.
"""
