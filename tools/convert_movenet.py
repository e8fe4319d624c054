"""Convert MoveNet from tfjs files to a torch checkpoint, and measure it on LSPET."""

import argparse
from pathlib import Path

EPILOG = """The model is a tfjs graph: a .json file with the topology and, next to it, the .bin
files that it names. Lightning, Thunder and MultiPose are known (Google, Apache-2.0). The converted
network is compared, map by map, with the file's own graph before it is written.

examples:
  python tools/convert_movenet.py movenet-thunder.json --out weights/thunder.pth
  python tools/convert_movenet.py movenet-thunder.json --lspet data/lspet --limit 300"""


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('model', type=Path, help='the .json file')
    parser.add_argument('--out', type=Path, help='the checkpoint to write, in half precision')
    parser.add_argument(
        '--lspet', type=Path, metavar='FOLDER', help='measure PCK on the people of LSPET'
    )
    parser.add_argument('--limit', type=int, help='measure on so many of them only')
    parser.add_argument(
        '--bfloat16', action='store_true', help='measure in this precision: faster on new CPUs'
    )
    parser.add_argument('--outputs', type=Path, help='write what was predicted there, as .npz')
    args = parser.parse_args()
    if args.out is None and args.lspet is None:
        parser.error('nothing to do: give --out, --lspet or both')
    return args


def main(args: argparse.Namespace) -> None:
    from hetpose.apis.convert import movenet

    network = movenet.convert(args.model)
    if args.out is not None:
        movenet.save(network, args.out, args.model)
        print(f'wrote {args.out}')
    if args.lspet is not None:
        from hetpose.apis.convert import movenet_lspet

        found = movenet_lspet.predict(network, args.lspet, args.limit, args.bfloat16)
        if args.outputs is not None:
            movenet_lspet.write(found, args.outputs)
        for line in movenet_lspet.report(found):
            print(line)


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
