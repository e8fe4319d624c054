#!/usr/bin/env bash
# Start PROCESSES copies of a script with torchrun, whose errors become one line; dist_train.sh and dist_test.sh call this.
#   tools/torchrun.sh PROCESSES SCRIPT [arguments]
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$tools/../.venv/bin/python}
[ -x "$python" ] || python=python
# Without these torchrun and mmengine warn, and every process would take every core.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MKL_NUM_THREADS=${MKL_NUM_THREADS:-1}
if [ "${NNODES:-1}" = 1 ]; then
    where=(--standalone) # a free port, so that two runs on one machine do not meet
else
    where=(--nnodes "$NNODES" --node_rank "${NODE_RANK:?}" --master_addr "${MASTER_ADDR:?}" --master_port "${PORT:-29500}")
fi
exec "$python" -m hetpose.launcher "${where[@]}" --nproc_per_node "$1" "${@:2}"
