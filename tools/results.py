"""The command `hetpose results`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('results')
