"""The plots of pages and reports, as data: each a pure function that returns a chart."""
