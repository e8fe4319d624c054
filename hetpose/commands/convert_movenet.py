"""Convert MoveNet from tfjs files to a torch checkpoint, and measure it on LSPET.

The model is a tfjs graph: a .json file with the topology and, next to it, the .bin
files that it names. Lightning, Thunder and MultiPose are known (Google, Apache-2.0). The converted
network is compared, map by map, with the file's own graph before it is written.

examples:
  hetpose convert-movenet movenet-thunder.json --out weights/thunder.pth
  hetpose convert-movenet movenet-thunder.json --lspet data/lspet --limit 300
"""

import argparse
from pathlib import Path

from hetpose.apis import convert
from hetpose.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('model', type=Path, help='the .json file')
    parser.add_argument('--out', type=Path, help='the checkpoint to write, in half precision')
    parser.add_argument(
        '--estimator', type=Path, metavar='FILE', help='write a checkpoint for configs/frozen'
    )
    parser.add_argument(
        '--lspet', type=Path, metavar='FOLDER', help='measure PCK on the people of LSPET'
    )
    parser.add_argument('--limit', type=int, help='measure on so many of them only')
    parser.add_argument(
        '--bfloat16', action='store_true', help='measure in this precision: faster on new CPUs'
    )
    parser.add_argument('--outputs', type=Path, help='write what was predicted there, as .npz')


def run(args: argparse.Namespace) -> None:
    if args.out is None and args.estimator is None and args.lspet is None:
        raise UserError('nothing to do: give --out, --estimator or --lspet')
    network = convert.movenet.convert(args.model)
    if args.out is not None:
        convert.movenet.save(network, args.out, args.model)
        print(f'wrote {args.out}')
    if args.estimator is not None:
        convert.movenet_estimator.save_estimator(network, args.estimator)
        print(f'wrote {args.estimator}')
    if args.lspet is not None:
        found = convert.movenet_lspet.predict(network, args.lspet, args.limit, args.bfloat16)
        if args.outputs is not None:
            convert.movenet_lspet.write(found, args.outputs)
        for line in convert.movenet_lspet.report(found):
            print(line)
