"""What a finished job leaves: its report, the rows of its tables, the files of its folder."""
