"""Measure what the package claims about speed, memory and accuracy.

Every benchmark runs both sides in turn in one process, takes medians of wall-clock time, and peak
memory in a process of its own. A ratio above 1 means that ours is better. The exit code is 1 if a
requirement is missed. Run it on a quiet machine.

benchmarks:
{listing}
  all         every one of them

examples:
  hetpose benchmark taylor
  hetpose benchmark all --json benchmark.json
  hetpose benchmark neighbours --quick
"""

import argparse

from hetpose import benchmarks, fileio

__doc__ = __doc__.replace(
    '{listing}', '\n'.join(f'  {name:<12}{text}' for name, text in benchmarks.BENCHMARKS.items())
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('name', metavar='BENCHMARK', choices=[*benchmarks.BENCHMARKS, 'all'])
    parser.add_argument('--json', metavar='FILE', help='also write the results here')
    parser.add_argument('--quick', action='store_true', help='smaller sizes, no memory')


def run(args: argparse.Namespace) -> int:
    results = {}
    for name in benchmarks.BENCHMARKS if args.name == 'all' else [args.name]:
        rows = benchmarks.run(name, args.quick)
        table = benchmarks.format_table(rows)
        print(f'{name}: {benchmarks.BENCHMARKS[name]}\n{table}\n', flush=True)
        results[name] = [row.as_dict() for row in rows]
    if args.json:
        content = dict(machine=benchmarks.machine(), quick=args.quick, results=results)
        fileio.write_json(args.json, content)
    return int(any(row['passed'] is False for rows in results.values() for row in rows))
