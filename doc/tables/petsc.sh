#!/bin/sh
# Karst inside PETSc beside PETSc's own ilu at the same level: petsc.sh RUNS SYSTEM..., with the program of
# examples/petsc.c as ./petsc, or as $PETSC_EXAMPLE. Runs of the programs alternate. It prints a Markdown table: the
# iterations; medians of the milliseconds of a solve (KSPSolve of -log_view, over the 3 solves of a run) and of a set-up
# (PCSetUp, over one with an analysis and two updates); and the ratios to PETSc's.
runs=$1 && shift
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

# measure NAME OPTION... appends "iterations solve set-up" to the file NAME.
measure()
{
  out=$scratch/$1 && shift
  ${PETSC_EXAMPLE:-./petsc} "$@" -ksp_rtol 1e-6 -log_view >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
  awk '/^step 3/ { iterations = $4 } /^KSPSolve / { solve = $4 / $2 } /^PCSetUp / { setup = $4 / $2 }
    END { print iterations, 1000 * solve, 1000 * setup }' "$scratch/log" >>"$out"
}

median() { cut -d' ' -f"$2" "$scratch/$1" | sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

# row NAME: a row of the table, beside the file ilu.
row()
{
  echo "$(median "$1" 1) $(median "$1" 2) $(median "$1" 3) $(median ilu 2) $(median ilu 3)" |
    awk -v start="| $(basename "$system") | $method | $level | $1" '
      { printf "%s | %d | %.1f | %.2f | %.2f | %.2f |\n", start, $1, $2, $2 / $4, $3, $3 / $5 }'
}

echo '| system | method | k | preconditioner | iterations | solve | / ilu | set-up | / ilu |'
echo '|---|---|---|---|---|---|---|---|---|'
for system; do
  for method in gmres bcgs; do
    for level in 0 1; do
      rm -f "$scratch"/*
      set_up="-system $system -ksp_type $method -ksp_pc_side right"
      karst="-pc_type karst -pc_karst_level $level"
      for run in $(seq "$runs"); do
        measure ilu $set_up -pc_type ilu -pc_factor_levels $level
        measure karst $set_up $karst
        measure karst_float $set_up $karst -pc_karst_factor_precision float
      done
      for program in ilu karst karst_float; do row $program; done
    done
  done
done
