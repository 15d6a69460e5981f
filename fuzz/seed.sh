#!/bin/sh
# Fills fuzz/corpus with files of this repository and of small runs, a folder for each target: sh fuzz/seed.sh [QKVET]
# QKVET is the binary, by default target/debug/qkvet. What a fuzzer found before stays.
set -eu
cd "$(dirname "$0")/.."
qkvet=$(realpath "${1:-target/debug/qkvet}")
corpus=$PWD/fuzz/corpus
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
for target in specs config wire cases archives exams reports; do mkdir -p "$corpus/$target"; done

# Each file under a name of its content: names that occur twice do not matter, and a second run adds nothing.
keep() {
    while IFS= read -r file; do
        cp "$file" "$corpus/$1/$(cksum <"$file" | tr ' ' -)"
    done
}

find specs -name '*.yaml' | keep specs
find examples tests/libraries crates/cli/src/commands/init -name 'qkvet.yaml' | keep config
printf 'profiles:\n  a: {suite: core, laws: [x], dtypes: [float32], seed: 1, timeout: 1.5, strict: true}\n  b: {extends: a, reports: [html=x, junit]}\n' >"$corpus/config/profiles"

printf 'known:\n  - {target: "a.py:f", law: causal-*, dtype: float16, finding: QK301, reason: so, expires: 2027-01-31}\n' >"$corpus/config/known"

find specs/exams -name '*.yaml' | keep exams
cd "$made"
for format in json npz safetensors onnx-node-tests; do
    "$qkvet" export smoke --dtype float32,bfloat16 --format $format --out $format >export.log 2>&1
done
find json -type f -size -16k | head -200 | keep cases
find "$corpus/../../snapshots" -name '*.snap' -size -16k | head -50 | keep cases
find npz -type f -size -16k | head -100 | keep archives
find safetensors -type f -size -16k | head -100 | keep archives
find onnx-node-tests -name '*.onnx' -size -16k | head -100 | keep archives
printf 'qk1:value;float32;causal;scale=0.5;mask=1x1x1x2:01;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1' >"$corpus/cases/token-1"
printf 'qk1:row-stochasticity;float32;dims=1,1,1,1,1,1,1;Q=1x1x1x1:0;K=1x1x1x1:0;V=1x1x1x1:0' >"$corpus/cases/token-2"

for fault in gqa-modulo causal-upper-left weights-not-normalized window-off-by-one; do
    for law in single-key value causal-is-bias; do
        "$qkvet" check builtin:fault/$fault --suite smoke --dtype float32 --law $law -q >check.log 2>&1 || true
        find .qkvet/cases -name '*.json' -size -16k | keep cases
        find .qkvet/last -name 'report.json' -size -64k | keep reports
    done
done

# Keys, templates filled with the first key's answers in three formats, a worked solution.
for set in tiny-head cs114b-written-4 cs189-discussion-10; do
    "$qkvet" exam build $set --variants 2 --seed 7 --out exam-$set >build.log 2>&1
    find exam-$set/key -name '*.json' -size -64k | keep exams
    find exam-$set/student -name '*.answers.yaml' | keep exams
done
"$qkvet" exam new --solution solution.yaml >build.log 2>&1 && echo solution.yaml | keep exams
printf 'exam: x\nvariant: 1\nstudent: Ada\nanswers:\n  1a: [[1, 0.5], [1/3, exp(1/2)]]\n  1b: 1 2; 3 4\n  1c: 3, 1, 2\n  2a: sqrt(2)/2\n  3a: a\n' >"$corpus/exams/submission-yaml"
printf '[{"student":"Ada","exam":"x","variant":1,"answers":{"1a":[[1,0.5],[0.25,"1/3"]],"1b":"1 2; 3 4","2a":"sqrt(2)"}}]' >"$corpus/exams/submission-json"
printf 'student,variant,1a,1b,2a\nAda,1,"[[1,0.5],[0.25,1/3]]",1 2; 3 4,exp(1)\n' >"$corpus/exams/submission-csv"
printf '{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","metadata":{"qkvet":{"part":"1a"}},"source":["[[1, 0.5],\\n"," [0.25, 1/3]]"],"outputs":[]}]}' >"$corpus/exams/submission-ipynb"

env -u CI "$qkvet" snapshot record builtin:fault/gqa-modulo --suite smoke --law value --dtype float32 -q --snapshot s.yaml >check.log 2>&1
echo s.yaml | keep config

answer() { printf '%s' "$2" >"$corpus/wire/$1"; }
answer hello '{"ok":true,"wire":1,"name":"libattn","version":"1.4","hint":"none"}'
answer no '{"ok":false,"wire":1,"message":"no device"}'
answer ok '{"seq":7,"status":"ok","tensors":{"output":{"dtype":"float32","shape":[1,1,1,1],"data":"AAAAAA=="}}}'
answer unsupported '{"seq":7,"status":"unsupported","reason":"head_dim 256 > 128"}'
answer refused '{"seq":7,"status":"refused","reason":"n_k must be > 0"}'
answer error '{"seq":7,"status":"error","reason":"CUDA error 700","fatal":true}'

for target in specs config wire cases archives exams reports; do
    echo "$target: $(find "$corpus/$target" -type f | wc -l) files"
done
