"""Learning: a place held for the trainers, **which are not part of this version**.

NOT YET IMPLEMENTED: supervised fine-tuning (``train.sft``) and group-relative policy optimisation
(``train.grpo``) do not exist in 0.1.0, and nothing in this package can be run. Meanwhile, any library that
drives Gymnasium or PettingZoo environments can train on those of ``gym_enterprise``.
"""
