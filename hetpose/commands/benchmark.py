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
  hetpose benchmark wrapped --markdown
  hetpose benchmark clicks --fit DIR   (the people of `hetpose fit-covariance --out DIR`)
"""

import argparse

from hetpose import benchmarks, fileio
from hetpose.errors import UserError

__doc__ = __doc__.replace(
    '{listing}', '\n'.join(f'  {name:<12}{text}' for name, text in benchmarks.BENCHMARKS.items())
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('name', metavar='BENCHMARK', choices=[*benchmarks.BENCHMARKS, 'all'])
    parser.add_argument('--json', metavar='FILE', help='also write the results here')
    parser.add_argument('--quick', action='store_true', help='smaller sizes, no memory')
    parser.add_argument('--markdown', action='store_true', help='print tables as Markdown')
    parser.add_argument(
        '--fit',
        metavar='DIR',
        help='clicks: also on the errors and covariances of this fit of a frozen model',
    )


def run(args: argparse.Namespace) -> int:
    if args.fit and args.name != 'clicks':
        raise UserError('--fit belongs to the benchmark clicks')
    options = dict(fit=args.fit) if args.fit else {}
    results = {}
    for name in benchmarks.BENCHMARKS if args.name == 'all' else [args.name]:
        rows = benchmarks.run(name, args.quick, **options)
        table = benchmarks.format_table(rows, args.markdown)
        gap = '\n\n' if args.markdown else '\n'
        print(f'{name}: {benchmarks.BENCHMARKS[name]}{gap}{table}\n', flush=True)
        results[name] = [row.as_dict() for row in rows]
    if args.json:
        content = dict(machine=benchmarks.machine(), quick=args.quick, results=results)
        fileio.write_json(args.json, content)
    return int(any(row['passed'] is False for rows in results.values() for row in rows))
