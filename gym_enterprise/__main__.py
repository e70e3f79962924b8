"""`python -m gym_enterprise` is the command line `gym-enterprise`."""

from gym_enterprise.cli import main

main()
