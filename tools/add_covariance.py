"""The command `hetpose add-covariance`, for a checkout."""

from hetpose import cli

if __name__ == '__main__':
    cli.tool('add-covariance')
