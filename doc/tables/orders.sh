#!/bin/sh
# orders.sh [FOLDER] - counts the iterations of ILU(k), k = 0, 1, 2, in natural order and in orders by colours and
# tiles, for problems of the gallery and for each matrix of a folder. It writes a table in Markdown to standard output:
#
#     sh doc/tables/orders.sh FOLDER >doc/tables/orders.md
#
# A cell has the mean of the iterations for several right-hand sides, for the iterations of one alone are as much a
# matter of luck as of the order, and, but in natural order, its ratio to that of natural order. A dash stands where a
# solve fails, does not converge or takes longer than LIMIT (20 seconds). "tiles" are boxes where there is a grid, else
# grown; "grown tiles" grow along strong couplings everywhere. SOLVER (bicgstab), RTOL (1e-6), TILE_SIZES for the three
# levels ("0 0 0": the default), RHS (ones and four random ones), SOLVE (tools/solve) and CASES, a list of problems in
# place of the gallery's, may be set in the environment.
solve=${SOLVE:-tools/solve}
limit=${LIMIT:-20}
solver=${SOLVER:-bicgstab}
rtol=${RTOL:-1e-6}
sides=${RHS:-ones random:1 random:2 random:3 random:4}
small="poisson2d:128x128 poisson3d:32x32x32 laplace27:24x24x24 anisotropic:32x32x32 discontinuous:24x24x24
  convdiff:32x32x32 blackoil:30x55x10 deadoil:30x55x10"
large="poisson2d:512x512 poisson3d:64x64x64 laplace27:48x48x48 anisotropic:64x64x64 discontinuous:48x48x48
  convdiff:64x64x64 blackoil:60x110x20 deadoil:60x110x20"

# run MATRIX LEVEL ORDER OPTIONS... prints the order, the mean of the iterations or "nan", and the rows.
run() {
  matrix=$1 level=$2 order=$3
  shift 3
  for side in $sides; do
    timeout "$limit" "$solve" "$matrix" --rhs "$side" --solver "$solver" --rtol "$rtol" --level "$level" --threads 1 \
      --json --quiet "$@" 2>/dev/null || echo '"failed":'
  done | awk -v order="$order" '
    $1 == "\"failed\":" || ($1 == "\"converged\":" && $2 != "true,") { failed = 1 }
    $1 == "\"iterations\":" { sum += $2; solves++ }
    $1 == "\"rows\":" { rows = $2 + 0 }
    END { print order, failed || !solves ? "nan" : sum / solves, rows + 0 }'
}

# lines MATRIX NAME prints the lines of a matrix, one for each level.
lines() {
  level=0
  for size in ${TILE_SIZES:-0 0 0}; do
    {
      run "$1" $level natural
      run "$1" $level colour --ordering colour
      run "$1" $level tiles --ordering tiles --tile-size "$size"
      run "$1" $level grown --ordering tiles --tile-size "$size" --tile-shape grown
    } | awk -v name="$2" -v level=$level '
      function ratio(order) {
        if (its[order] + 0 <= 0) return "-"
        return its["natural"] + 0 > 0 ? sprintf("%g (%.2f)", its[order], its[order] / its["natural"]) : its[order]
      }
      { its[$1] = $2; if ($3 > 0) rows = $3 }
      END {
        natural = its["natural"] + 0 > 0 ? its["natural"] : "-"
        printf "| %s | %s | %d | %s | %s | %s | %s |\n", name, (rows ? rows : "-"), level, natural, ratio("colour"),
               ratio("tiles"), ratio("grown")
      }'
    level=$((level + 1))
  done
}

if ! "$solve" --version >/dev/null 2>&1; then
  echo "orders.sh: $solve does not run: build Karst, or name its solve in SOLVE" >&2
  exit 2
fi
if [ $# -gt 0 ] && [ ! -d "$1" ]; then
  echo "orders.sh: $1 is no folder of matrices" >&2
  exit 2
fi
echo "# Iterations of ILU(k) by the order of the rows"
echo
echo "$solver to a true residual of $rtol, from x = 0, the mean over the right-hand sides $sides; in brackets the ratio" \
  "to natural order; $limit seconds a run; tiles of at most ${TILE_SIZES:-0 0 0} rows for the three levels (0: the" \
  "default of a CPU)."
echo
echo "| system | rows | k | natural | colour | tiles | grown tiles |"
echo "|---|---:|---:|---:|---:|---:|---:|"
for problem in ${CASES:-$small $large}; do lines "$problem" "$problem"; done
[ $# -gt 0 ] || exit 0
for file in "$1"/*.mtx "$1"/*.mtx.gz "$1"/*.tar.gz "$1"/*.txt; do
  case $file in *_b.mtx | *_b.mtx.gz | *rhs*) continue ;; esac
  [ -f "$file" ] && lines "$file" "$(basename "$file")"
done
