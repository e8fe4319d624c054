"""The command `hetpose pseudo-labels`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('pseudo-labels')
