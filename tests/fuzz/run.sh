#!/bin/sh
# Runs harnesses under libFuzzer: run.sh FOLDER SECONDS PROGRAM..., called by "make fuzz". FOLDER has the build. Inputs
# that reach new code are kept in FOLDER/found for the next run, and inputs that crash in FOLDER/crashes. Reports the
# executions; exits 1 if a harness crashed, ran out of time or memory, or leaked.
folder=$1 seconds=$2
shift 2
mkdir -p "$folder/crashes"
total=0 failed=0
for program in "$@"; do
  name=${program##*/fuzz_}
  log=$folder/$name.log
  mkdir -p "$folder/found/$name"
  # The reader of the commands prints an error for each input, which is suppressed.
  case $name in rutherford) quiet=-close_fd_mask=2 ;; *) quiet=-close_fd_mask=0 ;; esac
  "$folder/build/$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 $quiet -print_final_stats=1 \
    -artifact_prefix="$folder/crashes/$name-" "$folder/found/$name" "$folder/source/tests/fuzz/corpus/$name" \
    >"$log" 2>&1
  status=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "fuzz $name: ${executions:-0} executions"
  total=$((total + ${executions:-0}))
  if [ $status != 0 ]; then
    failed=1
    echo "fuzz $name: FAILED"
    grep -v -E '^(#[0-9]+|stat::|INFO|==[0-9]+== (INFO|NOTE))' "$log" | tail -n 40
  fi
done
echo "fuzz: $total executions in all"
exit $failed
