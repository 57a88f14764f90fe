"""What can be wrong with what a user gave.

Exception tree::

    InputError            one line that names the field and the mend; the terminal exits with 2
"""


class InputError(ValueError):
    """Bad input, told in one line.

    Args:
        field: The name of what is wrong, as the user knows it (``--space``, ``parameter[2].low``).
        problem: What is wrong with it and how to mend it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
