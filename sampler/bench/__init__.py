"""db_bench: its builds, command lines, outputs and LOGs, and the metrics made of them."""
