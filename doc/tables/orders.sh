#!/bin/sh
# orders.sh [FOLDER] - counts the iterations of ILU(k), k = 0, 1, 2, in natural order and in orders by colours and tiles,
# for problems of the gallery and for each matrix of a folder. It writes a table in Markdown to standard output:
#
#     sh doc/tables/orders.sh FOLDER >doc/tables/orders.md
#
# A cell has the iterations and, but in natural order, their ratio to natural order; a dash stands where a solve fails,
# does not converge or takes longer than LIMIT (20 seconds). Tiles are "boxes" where there is a grid, else grown;
# "grown" grow along strong couplings everywhere. SOLVER (bicgstab), RTOL (1e-6), BENCH (tools/bench) and CASES, a list
# of problems in place of the gallery's, may be set in the environment.
bench=${BENCH:-tools/bench}
limit=${LIMIT:-20}
solver=${SOLVER:-bicgstab}
rtol=${RTOL:-1e-6}
small="poisson2d:128x128 poisson3d:32x32x32 laplace27:24x24x24 anisotropic:32x32x32 discontinuous:24x24x24
  convdiff:32x32x32 blackoil:30x55x10 deadoil:30x55x10"
large="poisson2d:512x512 poisson3d:64x64x64 laplace27:48x48x48 anisotropic:64x64x64 discontinuous:48x48x48
  convdiff:64x64x64 blackoil:60x110x20 deadoil:60x110x20"

# shellcheck disable=SC2086 # $4 is none or two words
# Prints the orders and iterations of one run, natural order and another, "nan" for a solve that has not converged.
run() {
  timeout "$limit" "$bench" "$1" --solves "$solver" --rtol "$rtol" --level "$2" --quick --threads 1 --json \
    --ordering "$3" $4 2>/dev/null | awk -v order="$5" '
    function number(key) {
      if (!match($0, "\"" key "\":[-+.0-9e]+")) return "nan"
      return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    }
    { print NR == 1 ? "natural" : order, $0 ~ /"outcome":"converged/ ? number("iterations") : "nan", number("rows") }'
}

# Prints the lines of a matrix, one for each level.
matrix() {
  for level in 0 1 2; do
    {
      run "$1" $level colour "" colour
      run "$1" $level tiles "" boxes
      run "$1" $level tiles "--set tile-shape=grown" grown
    } | awk -v name="$2" -v level=$level '
      function ratio(order) {
        if (its[order] + 0 <= 0) return "-"
        return its["natural"] + 0 > 0 ? sprintf("%d (%.2f)", its[order], its[order] / its["natural"]) : its[order]
      }
      { if (!($1 in its) || its[$1] == "nan") its[$1] = $2; rows = $3 }
      END {
        natural = its["natural"] + 0 > 0 ? its["natural"] : "-"
        printf "| %s | %s | %d | %s | %s | %s | %s |\n", name, (rows ? rows : "-"), level, natural, ratio("colour"),
               ratio("boxes"), ratio("grown")
      }'
  done
}

if ! "$bench" --version >/dev/null 2>&1; then
  echo "orders.sh: $bench does not run: build Karst, or name its bench in BENCH" >&2
  exit 2
fi
if [ $# -gt 0 ] && [ ! -d "$1" ]; then
  echo "orders.sh: $1 is no folder of matrices" >&2
  exit 2
fi
echo "# Iterations of ILU(k) by the order of the rows"
echo
echo "$solver to a true residual of $rtol, from x = 0; in brackets the ratio to natural order; $limit seconds a run."
echo
echo "| system | rows | k | natural | colour | tiles | grown tiles |"
echo "|---|---:|---:|---:|---:|---:|---:|"
for problem in ${CASES:-$small $large}; do matrix "$problem" "$problem"; done
[ $# -gt 0 ] || exit 0
for file in "$1"/*.mtx "$1"/*.mtx.gz "$1"/*.tar.gz "$1"/*.txt; do
  case $file in *_b.mtx | *_b.mtx.gz | *rhs*) continue ;; esac
  [ -f "$file" ] && matrix "$file" "$(basename "$file")"
done
