"""Additive Gaussian processes: kernels, effects and variance components.

Everywhere ``kernels`` are those of ``kernel_matrices``, shape ``(n_parameters, n, n)``. ``values``
have shape ``(n,)`` and, where a process does not standardise them itself, mean 0 and variance 1;
``components`` say how much of their variance comes from where. A process is of one metric, and the
``known`` settings are those that it was fitted to; ``grids`` has one for each parameter.
"""
