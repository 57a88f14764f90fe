"""The strategies: what each proposes next."""
