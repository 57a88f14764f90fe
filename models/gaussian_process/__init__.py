"""Additive Gaussian processes: kernels, effects and variance components."""
