#!/bin/sh
# flow.sh PROGRAM - measures the flow solver of examples/euler3d, built there: its kernels on a GPU against the copies of
# that GPU, and against one core; and Table 2 of Stone, Duque, Zhang, Car, Owens and Davis, a sweep along x with all
# ways to bring its systems to the GPU. It writes two tables in Markdown to standard output:
#
#     sh doc/tables/flow.sh examples/euler3d/euler3d >flow.md
#
# SIZE (128x128x128), SIZES ("32x32x32 64x64x64 128x128x128"), THREADS (16) and STEPS (50), the repetitions on the GPU,
# may be set in the environment, and DEVICE (cuda): with cpu there are no columns of a GPU in Table 2.
program=${1:-examples/euler3d/euler3d}
device=${DEVICE:-cuda}

# measure ARGUMENT... prints a line for each job: its name, bytes a cell, milliseconds, GB/s or those to assemble.
measure()
{
  "$program" --case time "$@" | awk 'heads { print substr($0, 1, 18) "\t" $(NF - 2) "\t" $(NF - 1) "\t" $NF }
    /bytes a cell/ { heads = 1 }'
}

{
  measure --size "${SIZE:-128x128x128}" --device "$device" --steps "${STEPS:-50}"
  measure --size "${SIZE:-128x128x128}" --steps 1
} | awk -F '\t' '
  { sub(/ *$/, "", $1) }
  $1 in ms { core[$1] = $3; next }
  { name[++jobs] = $1; bytes[$1] = $2; ms[$1] = $3; rate[$1] = $4 }
  END {
    printf "| kernel | bytes a cell | ms | GB/s | of the copy | one core, ms | speed-up |\n|---|---:|---:|---:|---:|---:|---:|\n"
    for (j = 1; j <= jobs; j++) {
      k = name[j]
      printf "| %s | %d | %.3f | %.0f | %.0f %% | %.1f | %.0f |\n", k, bytes[k], ms[k], rate[k], 100 * rate[k] / rate["copy"],
        core[k], core[k] / ms[k]
    }
  }'

# cell ARGUMENT... prints milliseconds of assembly and of the whole sweep.
cell()
{
  measure --scheme implicit --threads "${THREADS:-16}" --steps 5 "$@" | awk -F '\t' '{ printf " %.2f, %.2f |", $4, $3 }'
}

gpu=''
[ "$device" = cpu ] || gpu=' (i) at once | (ii) by planes | (iii) in streams | on the GPU |'
echo
echo "| cells | precision | ${THREADS:-16} cores |$gpu"
echo "|---|---|---:|$(echo "$gpu" | sed 's/[^|]\{1,\}/---:/g')"
for size in ${SIZES:-32x32x32 64x64x64 128x128x128}; do
  for precision in float double; do
    printf '| %s | %s |' "$size" "$precision"
    cell --size "$size" --precision "$precision"
    for transfer in ${gpu:+whole planes streams}; do
      cell --size "$size" --precision "$precision" --transfer "$transfer"
    done
    [ -z "$gpu" ] || cell --size "$size" --precision "$precision" --device "$device"
    echo
  done
done
