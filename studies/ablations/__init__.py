"""Ablations: what each part of the default strategy pays, where the truth is known."""
