#!/bin/sh
# PETSc's own tutorials, unchanged, take Karst by options alone: as a preconditioner in one process and in each block of
# bjacobi, asm and fieldsplit on several ranks, with the iterations of PETSc's ilu, and as a solver. Options, views and
# errors say what they should, and nothing is leaked.
. "$srcdir/tests/support/report.sh"
skip_all() { echo "1..0 # SKIP $1" && exit 0; }
grep -q '^#define HAVE_PETSC 1' "$builddir/config.h" || skip_all 'built without PETSc'
plugin=$builddir/.libs/libkarst_petsc.so
[ -e "$plugin" ] || skip_all 'built without shared libraries'
variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }

# Where PETSc has been installed, and where Debian's package of examples has them.
tutorials=$(ls -d "$(variable petsc_folder)"/share/petsc/examples/src /usr/share/petsc/*/share/petsc/examples/src \
  2>/dev/null | head -n 1)
[ "$tutorials" ] || skip_all "PETSc's examples are not there (libpetsc3.18-dev-examples)"
command -v mpiexec >/dev/null || skip_all 'no mpiexec'
compile()
{
  "$builddir/libtool" --silent --tag=CC --mode=link $(variable CC) -O1 -w -no-install $(variable PETSC_CFLAGS) \
    $(variable MPI_CFLAGS) -I"$srcdir" -I"$srcdir/plugins/petsc" -I"$builddir/include" "$1" -o "$scratch/$(basename "$1" .c)" $2 \
    $(variable PETSC_LIBS) $(variable MPI_LIBS) -lm >"$scratch/log" 2>&1 || { cat "$scratch/log" && exit 99; }
}
for source in ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex10 snes/tutorials/ex19; do
  compile "$tutorials/$source.c"
done
compile "$srcdir/tests/plugins/test_petsc_ranks.c" "$builddir/libkarst_petsc.la"
compile "$srcdir/examples/petsc.c" "$builddir/libkarst_petsc.la $builddir/libkarst.la"

# Open MPI asks for these where root runs it and where ranks share a processor; others ignore them.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_base_warn_component_unused=0
LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# run RANKS PROGRAM OPTION... leaves what it prints in $scratch/output, without the names of ranks.
run()
{
  ranks=$1 program=$2
  shift 2
  if [ "$ranks" = 1 ]; then set -- "$scratch/$program" "$@"; else set -- mpiexec -n $ranks "$scratch/$program" "$@"; fi
  "$@" >"$scratch/output" 2>&1
}
with() { run "$@" -dll_prepend "$plugin"; }
iterations() { grep -o -i -E 'iterations *=? *[0-9]+' "$scratch/output" | grep -o -E '[0-9]+$' | tr '\n' ' '; }
has() { grep -q -e "$1" "$scratch/output" || shown "$scratch/output"; }

# same TEXT RANKS PROGRAM OPTIONS OWN KARST: the iterations with PETSc's own options and with Karst's are the same.
same()
{
  run $2 $3 $4 $5
  own=$(iterations)
  with $2 $3 $4 $6 -malloc_dump -options_left
  if [ -z "$own" ]; then wrong="PETSc's own does not run: $5"
  elif [ "$own" != "$(iterations)" ]; then wrong="PETSc: $own, Karst: $(iterations) $(tail -n 20 "$scratch/output")"
  elif grep -q -E '^\[|Option left' "$scratch/output"; then wrong=$(shown "$scratch/output")
  else wrong=''
  fi
  report "$1 on $2: iterations $own" "$wrong"
}

grid='-m 40 -n 40 -ksp_rtol 1e-8' flow='-da_grid_x 20 -da_grid_y 20 -snes_converged_reason -ksp_converged_reason'
echo 1..27
for level in 0 1 2; do
  same "ksp ex2, level $level" 1 ex2 "$grid" "-pc_type ilu -pc_factor_levels $level" \
    "-pc_type karst -pc_karst_level $level"
done
same "ksp ex2, one triangle" 1 ex2 "$grid -mat_type sbaij -ksp_type cg" '-pc_type icc' '-pc_type karst'
same "ksp ex2, bjacobi" 2 ex2 "$grid -pc_type bjacobi" '-sub_pc_type ilu' '-sub_pc_type karst'
same "ksp ex2, asm" 4 ex2 "$grid -pc_type asm" '-sub_pc_type ilu' '-sub_pc_type karst'
same "snes ex19, scalars" 1 ex19 "$flow" '-pc_type ilu' '-pc_type karst -pc_karst_block_size 1'
for ranks in 2 4; do
  same "snes ex19, blocks, bjacobi" $ranks ex19 "$flow -pc_type bjacobi -dm_mat_type baij" '-sub_pc_type ilu' \
    '-sub_pc_type karst'
done
same "snes ex19, blocks, asm, level 1" 2 ex19 "$flow -pc_type asm -dm_mat_type baij" \
  '-sub_pc_type ilu -sub_pc_factor_levels 1' '-sub_pc_type karst -sub_pc_karst_level 1'
split='-pc_type fieldsplit -pc_fieldsplit_block_size 4 -pc_fieldsplit_0_fields 0,1 -pc_fieldsplit_1_fields 2,3'
same "snes ex19, fieldsplit" 1 ex19 "$flow $split" '-fieldsplit_pc_type ilu' '-fieldsplit_pc_type karst'

# A matrix that PETSc has written is read in blocks and by rows.
run 1 ex19 $flow -ksp_view_mat "binary:$scratch/flow.petsc"
for type in aij 'baij -matload_block_size 4'; do
  same "ksp ex10, -mat_type $type" 1 ex10 "-f $scratch/flow.petsc -rhs one -ksp_rtol 1e-8 -mat_type $type" '-pc_type ilu' \
    '-pc_type karst'
done
same "ksp ex10" 2 ex10 "-f $scratch/flow.petsc -rhs one -mat_type baij -matload_block_size 4 -pc_type bjacobi" \
  '-sub_pc_type ilu' '-sub_pc_type karst'

same "examples/petsc.c" 2 petsc "-pc_type bjacobi" '-sub_pc_type ilu' '-sub_pc_type karst'

# As a solver.
with 1 ex10 -f "$scratch/flow.petsc" -rhs one -ksp_type karst -ksp_rtol 1e-9 -ksp_karst_ordering rcm -ksp_converged_reason \
  -ksp_monitor -malloc_dump -options_left
report "ksp ex10 is solved by Karst" "$(has 'CONVERGED_RTOL')$(has '  2 KSP Residual norm')$(
  awk '/^Residual norm/ && $3 >= 1e-4 { print }' "$scratch/output")"
with 2 ex19 $flow -ksp_type fgmres -pc_type bjacobi -sub_ksp_type karst -sub_ksp_rtol 1e-3 -options_left
report "Karst solves the blocks of snes ex19" "$(has 'CONVERGED_FNORM')$(grep 'Option left' "$scratch/output")"

# Texts.
with 1 ex2 $grid -pc_type karst -pc_karst_precond two-stage -pc_karst_first amg -help
report "-help has the options of the chosen methods, those inside too" \
  "$(has '-pc_karst_first.amg_coarsening <now pmis : formerly pmis>: pmis|aggregation')$(
    has '-pc_karst_second.level <now 0')$(has '-pc_karst_threads')"
with 1 ex2 $grid -pc_type karst -pc_karst_level 1 -ksp_view
report "-ksp_view says what was chosen" \
  "$(has '    level: 1')$(has '1600 block rows of block size 1 on cpu, 1 thread')$(has 'factor_bytes: ')"
with 1 ex2 $grid -ksp_type karst -ksp_karst_solver gmres -ksp_karst_restart 20 -ksp_view
report "also of the solver" \
  "$(has '    restart: 20')$(has 'last solve: converged after')$(has '  type: none')"
with 1 ex2 $grid -pc_type karst -pc_karst_levle 1 -pc_karst_sweeps 2 -options_left
report "options that no method reads are left over" "$(has 'name:-pc_karst_levle')$(has 'name:-pc_karst_sweeps')"
with 1 ex2 $grid -pc_type karst -pc_karst_precond ilu
report "a value that is not allowed is an error with Karst's sentence" "$(has 'precond "ilu" is unknown: .*iluk')"
with 2 ex2 $grid -pc_type karst
report "a matrix on several ranks is refused with what to do" "$(has 'use -pc_type bjacobi -sub_pc_type karst')"
with 1 ex2 $grid -pc_type karst -ksp_type bicg
report "a method with the transpose is refused" "$(has 'Karst applies no transpose')"
with 1 ex2 $grid -pc_type karst -pc_karst_device cuda:999
report "a GPU that is not there is an error" "$(has 'PETSC ERROR: Karst: .*\(cuda:999\|without CUDA\)')"

for ranks in 2 4; do
  run $ranks test_petsc_ranks -pc_type bjacobi -sub_pc_type karst -malloc_dump
  report "a singular block on one rank of $ranks ends the solve on all, good values converge, 1000 steps take no memory" \
    "$([ "$(sort "$scratch/output" | uniq -c | tr -s ' \n' ' ')" = \
      " $((ranks * ranks)) bad DIVERGED_PC_FAILED $ranks flat $ranks good CONVERGED_RTOL " ] || shown "$scratch/output")"
done
