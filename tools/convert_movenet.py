"""The command `hetpose convert-movenet`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('convert-movenet')
