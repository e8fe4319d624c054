"""The command `hetpose prepare-uci`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('prepare-uci')
