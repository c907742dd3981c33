"""What the commands of `cli.py` do, a module each. They import Dagster; `cli.py` does not."""
