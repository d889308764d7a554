"""Plans runs, prepares them, and boots them on a machine."""
