"""The command `hetpose trust-checkpoint`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('trust-checkpoint')
