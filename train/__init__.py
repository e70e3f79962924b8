"""Learning: programs you run (``python -m train.grpo``, ``train.sft``, ``train.filter``, ``train.plot``)."""
