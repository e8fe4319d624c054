#!/usr/bin/env bash
# Train on a Slurm cluster.
#   GPUS=8 GPUS_PER_NODE=8 CPUS_PER_TASK=5 tools/slurm_train.sh PARTITION JOB_NAME CONFIG WORK_DIR [arguments of tools/train.py]
# SRUN_ARGS holds more arguments of srun.
set -euo pipefail
if [ $# -lt 4 ]; then
    sed -n '2,4p' "$0" | cut -c3- >&2
    exit 2
fi
partition=$1 job=$2 config=$3 work_dir=$4
gpus=${GPUS:-8} per_node=${GPUS_PER_NODE:-8}
[ "$gpus" -ge "$per_node" ] || per_node=$gpus
# shellcheck disable=SC2086
exec srun -p "$partition" --job-name="$job" --gres="gpu:$per_node" --ntasks="$gpus" --ntasks-per-node="$per_node" \
    --cpus-per-task="${CPUS_PER_TASK:-5}" --kill-on-bad-exit=1 ${SRUN_ARGS:-} \
    python -u "$(dirname "$0")/train.py" "$config" --work-dir "$work_dir" --launcher slurm "${@:5}"
