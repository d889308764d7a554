"""What decides: turns the stored boots of a run into prices, proofs and refusals.

It reads plans and boots (``temper.record``) and draws nothing.
"""
