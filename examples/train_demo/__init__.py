"""A transformer of 0.8 million parameters learns to serve a bank's customers, on two CPU cores.

    make train-demo            or: python -m examples.train_demo.run --help

====================  ===================================================================================
`bank.py`             the bank with made tasks: thousands to learn from, 800 held out with other customers
`teacher.py`          dialogues of a teacher that is sometimes wrong, and exercises in copying
`stages.py`           one seed, stage by stage: teach, practise, and two controls; each can be resumed
`results.py`          what was measured, as a table and a picture
====================  ===================================================================================
"""
