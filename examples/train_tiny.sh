#!/usr/bin/env bash
# The shortest complete path of training, on a laptop: one to two minutes from no model to a practised one.
#
#   examples/train_tiny.sh FOLDER      a new folder, for everything that is made; PYTHON names the interpreter
#
# The domain is the library of examples/custom_domain.py: one task, dialogues of 170 tokens. So this shows how
# the programs fit together, and nothing about how well they teach: what is practised is what was imitated.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
[ -z "$(ls -A "$1" 2>/dev/null)" ] || { echo "$1 is not empty: give a new folder" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
python=${PYTHON:-$here/../.venv/bin/python}
command -v "$python" >/dev/null || python=python3
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" # where the domain is found
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"       # more threads slow a model as small as this one down

say() { printf '\n== %s\n' "$*"; }

say "1. Dialogues of a teacher: the oracle, which knows what to do"
domain=custom_domain:make_domain
"$python" -m gym_enterprise eval $domain --agent oracle --split train --trials 8 --out oracle

say "2. Which of them to imitate, written as our model will read and write"
echo "Serve the member of the library." >prompt.md
"$python" -m train.filter oracle --out set --format json --prompt prompt.md

say "3. A model from nothing: a tokenizer made for these dialogues, given three times so that words become
   tokens, and a Llama of 0.8 million random weights"
"$python" -m train.scratch --out base --data set/sft.jsonl set/sft.jsonl set/sft.jsonl

say "4. Imitation, stopped while the model still errs"
cat >sft.toml <<'TOML'
out = "sft"
data = ["set"]
steps = 35
batch_size = 8
max_tokens = 256
context_weight = 0.3
model.path = "base"
optim.lr = 3e-3
optim.warmup_steps = 5
TOML
"$python" -m train.sft sft.toml

say "5. Practice with the exact reward: 8 steps, each of 4 groups of 8 episodes"
cat >grpo.toml <<'TOML'
out = "grpo"
domain = "custom_domain:make_domain"
steps = 8
model.path = "sft/checkpoints/step-000035/model"
optim.lr = 5e-4
checkpoint.every = 4

[rollout]
tasks_per_step = 4
group_size = 8
format = "json"
prompt = "prompt.md"
max_tokens = 40
max_segment_tokens = 256
max_steps = 20

[evaluate]
split = "train"
trials = 64
every = 4
TOML
"$python" -m train.grpo grpo.toml

say "6. The run goes on from its last checkpoint, as it would after a kill"
"$python" -m train.grpo grpo.toml steps=12 checkpoint.resume=true

say "7. A picture of it"
"$python" -m train.plot grpo

say "All is in $PWD; the model, as a folder that transformers and vLLM load:"
ls -d "$PWD/grpo/checkpoints/step-000012/model"
