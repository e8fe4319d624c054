"""The command `hetpose pack-model`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('pack-model')
