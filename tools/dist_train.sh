#!/usr/bin/env bash
# Train on several processes of one or more machines: GPUs with nccl, CPUs with gloo.
#   bash tools/dist_train.sh CONFIG PROCESSES [arguments of tools/train.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,4p' "$0" | cut -c3- >&2
    exit 2
fi
config=$1 processes=$2
exec "$(dirname "$0")/torchrun.sh" "$processes" "$(dirname "$0")/train.py" "$config" --launcher pytorch "${@:3}"
