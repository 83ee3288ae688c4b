"""WHAT ACTS: the flow policy, its pretraining, and noise steering."""
