#!/usr/bin/env bash
# Evaluate on several processes of one or more machines: GPUs with nccl, CPUs with gloo.
#   bash tools/dist_test.sh CONFIG CHECKPOINT PROCESSES [arguments of tools/test.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT on each.
set -euo pipefail
if [ $# -lt 3 ]; then
    sed -n '2,4p' "$0" | cut -c3- >&2
    exit 2
fi
config=$1 checkpoint=$2 processes=$3
exec "$(dirname "$0")/torchrun.sh" "$processes" "$(dirname "$0")/test.py" "$config" "$checkpoint" \
    --launcher pytorch "${@:4}"
