#!/bin/sh
# Karst inside PETSc beside PETSc's own ilu at the same level: petsc.sh RUNS SYSTEM... with the program of
# examples/petsc.c as ./petsc (or $PETSC_EXAMPLE). Runs of the two alternate. It prints a Markdown table: iterations,
# medians of the milliseconds of a solve (KSPSolve of -log_view, over the 3 solves of a run) and of the set-ups (PCSetUp:
# one with analysis and two updates), and the ratios of the medians.
runs=$1 && shift
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

# measure NAME OPTION... appends "solve set-up iterations" to the file NAME.
measure()
{
  out=$1 && shift
  ${PETSC_EXAMPLE:-./petsc} "$@" -ksp_rtol 1e-6 -log_view >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
  awk '/^step 3/ { iterations = $4 } /^KSPSolve / { solve = $4 / $2 } /^PCSetUp / { setup = $4 / $2 }
    END { print 1000 * solve, 1000 * setup, iterations }' "$scratch/log" >>"$out"
}
median() { cut -d' ' -f"$2" "$1" | sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

echo '| system | Krylov method | k | iterations, ilu | Karst | solve, ilu | Karst | ratio | set-up, ilu | Karst | ratio |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for system; do
  for method in gmres bcgs; do
    for level in 0 1; do
      rm -f "$scratch/ilu" "$scratch/karst"
      for run in $(seq "$runs"); do
        measure "$scratch/ilu" -system "$system" -ksp_type $method -ksp_pc_side right -pc_type ilu -pc_factor_levels $level
        measure "$scratch/karst" -system "$system" -ksp_type $method -ksp_pc_side right -pc_type karst \
          -pc_karst_level $level
      done
      echo "$(basename "$system")" $method $level $(median "$scratch/ilu" 3) $(median "$scratch/karst" 3) \
        $(median "$scratch/ilu" 1) $(median "$scratch/karst" 1) $(median "$scratch/ilu" 2) $(median "$scratch/karst" 2) |
        awk '{ printf "| %s | %s | %d | %d | %d | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", $1, $2, $3, $4, $5, $6, $7,
          $7 / $6, $8, $9, $9 / $8 }'
    done
  done
done
