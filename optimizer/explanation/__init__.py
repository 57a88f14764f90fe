"""Why a winner is better: what each changed option contributes, and which do not matter."""
