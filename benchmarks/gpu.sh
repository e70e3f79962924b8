#!/usr/bin/env bash
# What training does on one GPU, in under 8 minutes: a JSON line for each part, then a table.
#
#   pip install '.[train,vllm]'
#   benchmarks/gpu.sh [PART ...] | tee gpu.jsonl
#   SIZE=tiny DEVICE=cpu benchmarks/gpu.sh        the same code with a tiny model, without a GPU
#
# part           most  what it reports
# vectors        40 s  losses and gradients on the device in float32, against float64 on the CPU
# update        120 s  tokens/s, MFU and peak memory of the update of a 0.5 B model in bfloat16, with gradient
#                      checkpointing off and on
# transformers   80 s  tokens/s that TransformersEngine samples with it
# vllm          200 s  the same of vLLM in this process; the canary before and after the weights changed while
#                      it slept, and what it would be without the sync; how long that takes; free memory
# grpo          150 s  three steps of train.grpo with vLLM in this process: seconds, canary, memory
#
# The model has the shape of Qwen2.5-0.5B and random weights, which are made here; nothing is downloaded. A
# part that fails or takes too long says so in its line, and the others run all the same, until 470 s are over.
#
# Variables: PYTHON (python3), SIZE (full), DEVICE (cuda), PEAK_TFLOPS (dense bfloat16, of a GPU that
# benchmarks/gpu_parts.py does not know), TMPDIR (room for 2 GB; in memory is best), PATIENCE (1: all these
# seconds are multiplied by it).
#
# Not run so far: any of this on a GPU. On CPUs all parts pass with SIZE=tiny; there vLLM cannot sleep, nor
# free memory, bfloat16 is float32, and MFU is not known.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3} patience=${PATIENCE:-1}
export SIZE=${SIZE:-full} DEVICE=${DEVICE:-cuda} HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # part, most seconds
    local limit=$(($2 * patience)) left=$((470 * patience - SECONDS))
    timeout -k 5 $((left > limit ? limit : left > 1 ? left : 1)) \
        "$python" "$here/gpu_parts.py" "$1" "$work" >"$work/$1.out" 2>"$work/$1.log"
    "$python" "$here/gpu_parts.py" line "$work" "$1" $? | tee -a "$work/lines.jsonl"
}

declare -A most=([vectors]=40 [update]=120 [transformers]=80 [vllm]=200 [grpo]=150)
[ $# -gt 0 ] || set -- vectors update transformers vllm grpo
for part in "$@"; do
    run "$part" "${most[$part]}"
done
"$python" "$here/gpu_parts.py" table "$work"
