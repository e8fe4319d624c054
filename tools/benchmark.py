"""Measure what the package claims about speed, memory and accuracy.

Every benchmark runs both sides in turn in one process, takes medians of wall-clock time, and peak
memory in a process of its own. A ratio above 1 means that ours is better. The exit code is 1 if a
requirement is missed. Run it on a quiet machine.
"""

import argparse
import ast
import importlib
import os
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = """examples:
  python tools/benchmark.py taylor
  python tools/benchmark.py all --json benchmark.json
  python tools/benchmark.py neighbours --quick
"""


def benchmarks() -> dict[str, str]:
    """Names and descriptions, read without importing anything, so that --help is quick."""
    spec = find_spec('hetpose')
    folder = Path((spec and spec.submodule_search_locations or ['hetpose'])[0]) / 'benchmarks'
    found = {}
    for path in sorted(folder.glob('*.py')):
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and target.id == 'DESCRIPTION':
                found[path.stem] = ast.literal_eval(node.value)
    return found


def parse_args(known: dict[str, str]) -> argparse.Namespace:
    listing = '\n'.join(f'  {name:<12}{text}' for name, text in known.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f'subcommands:\n{listing}\n  {"all":<12}every one of them\n\n{EXAMPLES}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('name', metavar='SUBCOMMAND', choices=[*known, 'all'])
    parser.add_argument('--json', metavar='FILE', help='also write the results here')
    parser.add_argument('--quick', action='store_true', help='smaller sizes, no memory')
    return parser.parse_args()


def main(options: argparse.Namespace, known: dict[str, str]) -> int:
    import torch

    from hetpose.benchmarks.harness import format_table
    from hetpose.fileio import write_json

    names = list(known) if options.name == 'all' else [options.name]
    results = {}
    for name in names:
        rows = importlib.import_module(f'hetpose.benchmarks.{name}').run(quick=options.quick)
        print(f'{name}: {known[name]}\n{format_table(rows)}\n', flush=True)
        results[name] = [row.as_dict() for row in rows]
    if options.json:
        machine = dict(
            torch=torch.__version__, threads=torch.get_num_threads(), cores=os.cpu_count()
        )
        write_json(options.json, dict(machine=machine, quick=options.quick, results=results))
    return int(any(row['passed'] is False for rows in results.values() for row in rows))


if __name__ == '__main__':
    listed = benchmarks()
    arguments = parse_args(listed)  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments, listed))
