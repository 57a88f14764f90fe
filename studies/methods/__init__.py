"""The bake-off: every tuning method on the same loads with the same seconds of the bench."""
