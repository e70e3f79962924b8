"""Learning: programs you run, ``python -m train.grpo`` first, and the few pure modules they share.

NOT YET IMPLEMENTED: supervised fine-tuning (``train.sft``), more than one process (``torchrun``) and rollouts
that overlap with the updates. Asking for one says so.
"""
