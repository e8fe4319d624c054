"""The command `hetpose benchmark`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('benchmark')
