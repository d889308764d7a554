"""What decides: from the stored boots of a run to prices, proofs and refusals.

It reads what travels (``temper.record``) and draws nothing.
"""
