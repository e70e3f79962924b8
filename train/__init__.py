"""Learning: programs you run (``python -m train.grpo``, ``train.sft``, ``train.filter``, ``train.plot``).

NOT YET IMPLEMENTED: more than one process (``torchrun``), and rollouts that overlap with the updates
(``max_staleness``). Asking for one says so.
"""
