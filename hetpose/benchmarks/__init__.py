"""What the package claims about speed and memory, measured.

One module per subcommand of ``tools/benchmark.py``, with ``DESCRIPTION`` (one line) and
``run(quick: bool = False) -> list[Row]``.
"""
