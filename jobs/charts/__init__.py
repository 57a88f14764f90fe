"""The plots of a report, as data: one idea a file, each a pure function that returns a chart."""
