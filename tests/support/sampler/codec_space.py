"""The space of benchmarks that take no time: one parameter that matters, and one that does not."""

SPACE = """\
name = "codecs"
[[parameter]]
name = "codec"
type = "cat"
choices = ["slow", "fast"]
[[parameter]]
name = "level"
type = "int"
low = 1
high = 1000000
"""
