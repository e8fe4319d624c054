"""Run the fuzz cases: python tests/fuzz --cases 10000 [--seed 1]."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parent))
from cases import TARGETS, failures  # noqa: E402


def main() -> int:
    """Print what failed, and how many cases of each kind there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--cases', type=int, default=10_000)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    found: Counter[str] = Counter()
    for kind, index, error in tqdm(failures(args.cases, args.seed), desc='failures'):
        found[kind] += 1
        if found[kind] <= 3:
            print(f'{kind} {index}: {type(error).__name__}: {str(error)[:160]!r}')
    for kind in sorted(TARGETS):
        print(f'{kind}: {found[kind]} failures')
    print(f'{args.cases} cases, {sum(found.values())} failures')
    return int(bool(found))


if __name__ == '__main__':
    sys.exit(main())
