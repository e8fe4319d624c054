"""The command `hetpose fit-branch`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('fit-branch')
