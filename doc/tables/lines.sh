#!/bin/sh
# lines.sh [FILE...] - measures lines and adi against incomplete factors in natural order and in tiles, on layered
# reservoirs, anisotropic diffusion and the systems of files. It writes a table in Markdown to standard output:
#
#     sh doc/tables/lines.sh >lines.md
#
# A cell has the iterations, the milliseconds of a solve with what has been set up, and those of an update with new
# values, medians of REPEAT (3). A dash stands where a solve does not converge or the method refuses the matrix; the
# columns are those of the first system. DEVICE (cpu), THREADS (1), SOLVER (bicgstab), RTOLS ("1e-6 1e-2"), FACTORS and
# LINES, the methods in natural order and tiles and those in natural order alone, CASES, a list of problems in place of
# the gallery's, and BENCH (tools/bench) may be set in the environment.
bench=${BENCH:-tools/bench}
device=${DEVICE:-cpu}
factors=${FACTORS:-iluk,dilu}
zebra=cpr:second.precond=lines:second.line-order=zebra
lines=${LINES:-lines,lines:line-order=zebra,adi,cpr,cpr:second.precond=lines,$zebra}
cases=${CASES:-blackoil:30x30x20,dt=1,kvkh=1 blackoil:30x30x20,dt=1,kvkh=0.1 blackoil:30x30x20,dt=1,kvkh=0.01
  blackoil:30x30x20,dt=1,kvkh=1e-4 blackoil:30x30x20,dt=10,kvkh=1 blackoil:30x30x20,dt=10,kvkh=1e-4
  anisotropic:40x40x40,epsx=1,epsy=1,epsz=1 anisotropic:40x40x40,epsx=1,epsy=1,epsz=10
  anisotropic:40x40x40,epsx=1,epsy=1,epsz=100 anisotropic:40x40x40,epsx=1,epsy=1,epsz=1e4
  anisotropic:40x40x40,epsx=1,epsy=1,epsz=0.01 anisotropic:40x40x40,epsx=1,epsy=0.1,epsz=0.01}

# measure MATRIX RTOL OPTIONS... prints a line for each program: its name, iterations, and both times.
measure() {
  matrix=$1 rtol=$2
  shift 2
  "$bench" "$matrix" --solves "${SOLVER:-bicgstab}" --rtol "$rtol" --device "$device" --threads "${THREADS:-1}" \
    --repeat "${REPEAT:-3}" --json "$@" 2>/dev/null | awk '
    function value(key) {
      if (!match($0, "\"" key "\":(\"[^\"]*\"|[^,}]*)")) return ""
      return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    }
    {
      name = value("program")
      gsub(/"|, (cuda|[0-9]+ threads?)/, "", name)
      converged = value("outcome") ~ /converged/
      printf "%s\t%s\t%.1f + %.1f\n", name, converged ? value("iterations") : "-", 1e3 * value("again"), 1e3 * value("update")
    }'
}

# row MATRIX NAME RTOL prints a line of the table, behind the heads of its columns if it is the first one.
heads=
row() {
  data=$(
    measure "$1" "$3" --precond "$factors" --level 0,1 --ordering tiles
    measure "$1" "$3" --precond "$lines" --level 0
  )
  if [ -z "$heads" ]; then
    heads=$(echo "$data" | cut -f 1 | paste -s -d '|' -)
    echo "| system | rtol | $heads |" | sed 's/|\([^ ]\)/| \1/g; s/\([^ ]\)|/\1 |/g'
    echo "|---|---|$heads|" | sed 's/[^|]\{1,\}/---/g'
  fi
  echo "$data" | awk -F '\t' -v name="$2" -v rtol="$3" -v heads="$heads" '
    $2 != "-" { cell[$1] = $2 ", " $3 }
    END {
      printf "| %s | %s |", name, rtol
      columns = split(heads, head, "|")
      for (i = 1; i <= columns; i++) printf " %s |", head[i] in cell ? cell[head[i]] : "-"
      printf "\n"
    }'
}

for rtol in ${RTOLS:-1e-6 1e-2}; do
  for case in $cases; do row "$case" "\`$case\`" "$rtol"; done
  for file; do row "$file" "$(basename "$file")" "$rtol"; done
done
