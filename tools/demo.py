"""The command `hetpose demo`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('demo')
