"""``python -m hetpose COMMAND`` is ``hetpose COMMAND``."""

from hetpose import cli

if __name__ == '__main__':
    cli.main()
