"""From knowledge to a better configuration: objective, strategies, confirmation, the tuning run.

Knows storage and execution only through the protocols in ``optimizer.run.ports``.
"""
