#!/bin/sh
# check.sh [-j N] [TEST_KERNELS] - runs every family of GPU kernels on small systems (tests/gpu/test_kernels.c) under
# each tool of compute-sanitizer: racecheck (shared memory), memcheck, initcheck and synccheck. "make gpu-check" runs
# it, and so does gpu-bundle/check on a machine that has compute-sanitizer of CUDA's toolkit (SANITIZER names another
# one).
#
# It prints a line for each family and tool as they end, N at a time (by default as many as there are processors, 16 at
# most), then a table. The output of the tools is kept in check-results/FAMILY.TOOL.log. Exit status 1 if one reported
# an error or failed, 77 without a GPU.
set -u
jobs=$(nproc)
[ "$jobs" -le 16 ] || jobs=16
if [ "${1-}" = -j ]; then
  jobs=$2
  shift 2
fi
program=${1:-${0%/*}/tests/gpu/test_kernels}
sanitizer=${SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
tools='racecheck memcheck initcheck synccheck'
results=check-results

if ! "$sanitizer" --version >/dev/null 2>&1; then
  echo "check.sh: no compute-sanitizer: install CUDA's toolkit, or say where it is with SANITIZER=PATH" >&2
  exit 2
fi
families=$("$program" --families) || exit 2
rm -rf "$results"
mkdir -p "$results"

# run_case FAMILY TOOL: prints a line, and writes the outcome to FAMILY.TOOL
run_case() {
  log=$results/$1.$2.log
  only=
  # Without a number, synccheck loses track of the mbarriers of fgbilu's tiles, and the kernel stops.
  [ "$2" != synccheck ] || only='--num-cuda-barriers 512'
  # The library asks the driver for what a GPU may not have; such answers are no errors.
  "$sanitizer" --tool "$2" $only --target-processes all --report-api-errors no --error-exitcode 9 "$program" "$1" \
    >"$log" 2>&1
  status=$?
  if grep -q '^1\.\.0' "$log"; then
    outcome='no GPU'
  elif [ $status = 9 ]; then
    outcome=FOUND
  elif [ $status != 0 ]; then
    outcome="FAILED ($status)"
  else
    outcome=clean
  fi
  echo "$outcome" >"$results/$1.$2"
  printf '%-14s %-10s %4d systems  %s\n' "$1" "$2" "$(grep -c '^ok' "$log")" "$outcome"
}

began=$(date +%s)
# Each line of a fifo allows one job to run, which gives the line back when it ends.
fifo=$results/fifo
mkfifo "$fifo"
exec 3<>"$fifo"
for job in $(seq "$jobs"); do echo "$job" >&3; done
for tool in $tools; do
  for family in $families; do
    read -r leave <&3
    {
      run_case "$family" "$tool"
      echo "$leave" >&3
    } &
  done
done
wait
rm -f "$fifo"

printf '\n%-14s' family
printf ' %-12s' $tools
echo
for family in $families; do
  printf '%-14s' "$family"
  for tool in $tools; do printf ' %-12s' "$(cat "$results/$family.$tool")"; done
  echo
done
cd "$results" || exit 2
all=$(echo "$families" | wc -l)
clean=$(grep -lx clean ./*check 2>/dev/null | wc -l)
echo "$clean of $((4 * all)) runs clean, in $(($(date +%s) - began)) s; their output is in $PWD"
if grep -qx 'no GPU' ./*check; then exit 77; fi
[ "$clean" = $((4 * all)) ]
