"""The command `hetpose feature-views`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('feature-views')
