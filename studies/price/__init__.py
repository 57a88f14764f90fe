"""What reads and memory pay for what writes gain: real jobs, their proofs, and limits on reads."""
