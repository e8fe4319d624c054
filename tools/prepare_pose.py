"""The command `hetpose prepare-pose`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('prepare-pose')
