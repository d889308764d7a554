"""Pure functions: samples in, verdicts out."""
