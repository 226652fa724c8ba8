#!/bin/sh
# The flow solver of examples/euler3d, built by its own Makefile against the library of this build: Sod's tube has the
# same errors along each axis and for any blocks, and smaller ones on finer grids; mass is conserved; the implicit scheme
# finds the steady state of the explicit one; a GPU has the flow of the CPU; bad arguments are refused.
. "$srcdir/tests/support/report.sh"
. "$srcdir/tests/support/example.sh"

echo 1..39
build euler3d OPENMP="$(variable OPENMP_CFLAGS)" NVCC="$(variable NVCC)" \
  NVCCFLAGS="-std=c++17 -O3 $(variable CUDA_ARCH_FLAGS)"

# errors prints the L1 errors of the last run; at_most TEXT REGULAR_EXPRESSION_BEFORE LIMIT what is above the limit.
errors() { sed -n 's/^L1 errors at t = 0.2: //p' "$scratch/output" | grep . || shown "$scratch/output"; }
at_most()
{
  sed -n "s/^.*$1 *\([-+0-9.e]*\).*/\1/p" "$scratch/output" | awk -v limit="$2" '
    { found = 1; x = $1 < 0 ? -$1 : $1; if (!(x <= limit)) print "not at most " limit ": " $1 }
    END { if (!found) print "no number" }'
}
# lost LIMIT prints the errors of mass in the rows of steps that exceed the limit.
lost()
{
  awk -v limit="$1" '/^ *[0-9]+  / { found = 1; if (!($5 <= limit)) print } END { if (!found) print "no row" }' \
    "$scratch/output"
}

run --axis x --size 50x4x2
first=$(errors)
report "Sod's tube conserves mass" "$(lost 1e-13)"
report "the errors are those of a 50-cell grid" "$(echo "$first" | tr -d , | awk '
  !($2 > 0.005 && $2 < 0.02 && $4 < 0.05 && $6 < 0.02)')"
for axis in y z; do
  run --axis $axis --size 50x4x2
  report "along $axis the errors are the same" "$(errors | grep -v -F -x "$first")"
done
run --size 50x4x2 --blocks 2x2x1
report "four blocks have the errors of one" "$(errors | grep -v -F -x "$first")"
run --size 50x4x2 --group 7 --threads 2
report "so has a reduction by groups of seven, on two threads" "$(errors | grep -v -F -x "$first")"
run --size 100x4x2
report "twice as many cells have at most 0.75 of the errors" "$(printf '%s\n%s\n' "$first" "$(errors)" | tr -d , |
  awk '{ for (i = 2; i <= 6; i += 2) { if (NR == 2 && !($i <= 0.75 * coarse[i])) print; coarse[i] = $i } }')"
run --size 30x6x6 --warp 1 --blocks 3x2x3
report "a bent grid conserves mass, too" "$(lost 1e-13)"

run --size 50x4x2 --scheme implicit --phi 0.5 --cfl 0.5
report "the implicit scheme conserves mass" "$(lost 1e-13)"
implicit=$(errors)
report "its errors are those of a 50-cell grid" "$(echo "$implicit" | tr -d , | awk '
  !($2 > 0.005 && $2 < 0.025 && $4 < 0.06 && $6 < 0.025)')"
run --size 50x4x2 --scheme implicit --phi 0.5 --cfl 0.5 --blocks 2x2x1
report "four blocks conserve it, too" "$(lost 1e-13)"
report "and have the errors of one" "$(errors | grep -v -F -x "$implicit")"
run --size 50x4x2 --scheme implicit --precision float --end 0.02
report "sweeps in float conserve mass to their rounding" "$(lost 1e-6)"

# unfinished STATUS TEXT prints what a run with a limit of steps said or left instead.
unfinished()
{
  [ "$1" = 1 ] && tail -n 1 "$scratch/output" | grep -q -F -x "$2 steps that --steps allows" || shown "$scratch/output"
}
run --case bump --size 24x8x1 --steps 40
report "a flow that is not steady ends with status 1, and with a sentence" \
  "$(unfinished $? 'the flow is not steady after the 40')"
report "the bump's flow conserves mass" "$(lost 1e-13)"
run --size 50x4x2 --steps 3
report "so does a tube that the steps do not bring to its end" \
  "$(unfinished $? 'the time is not that of --end after the 3')"
mach() { sed -n 's/.*largest Mach number //p' "$scratch/output" | grep . || shown "$scratch/output"; }
run --case bump --size 16x6x1 --blocks 2x1x1 --scheme implicit
status=$?
implicit=$(mach)
report "the implicit scheme reaches the steady state, and says so by status 0" \
  "$(at_most 'residual fell to' 1e-8; [ $status = 0 ] || echo "status $status")"
run --case bump --size 16x6x1 --steps 8000 --picture "$scratch/bump"
report "the explicit one has the same" "$(mach | grep -v -F -x "$implicit")"
if command -v gnuplot >/dev/null; then
  report "gnuplot draws its picture" "$( (cd "$scratch" && gnuplot bump) 2>&1
    [ "$(head -c 4 "$scratch/bump.png" | tail -c 3)" = PNG ] || ls "$scratch")"
else
  skip "gnuplot draws its picture" 'no gnuplot'
fi

# The last lines of a run, with residuals, masses and errors of four digits.
gpu="a GPU has the flow of the CPU, with all ways of transfer"
ends() { run --case bump --size 24x8x3 --steps 20 "$@"; grep -E '^ +20 |^entropy' "$scratch/output" | sed 's/[^ ]* *$//'; }
if [ "$(variable NVCC)" ] && "$builddir/tools/solve" poisson2d:9x9 --device cuda --quiet >/dev/null 2>&1; then
  ends >"$scratch/explicit" && ends --scheme implicit >"$scratch/implicit"
  report "$gpu" "$(ends --device cuda | diff "$scratch/explicit" - 2>&1
    ends --scheme implicit --device cuda | diff "$scratch/implicit" - 2>&1
    for transfer in whole planes streams; do
      ends --scheme implicit --transfer $transfer | diff "$scratch/implicit" - 2>&1
    done)"
else
  skip "$gpu" 'no GPU'
fi

# refuses TEXT SENTENCE ARGUMENT...: SENTENCE is a part of what is said.
refuses()
{
  text=$1 sentence=$2
  shift 2
  run "$@"
  status=$?
  wrong="status $status: $(cat "$scratch/output")"
  [ $status = 2 ] && [ "$(grep -c '^euler3d: ' "$scratch/output")" = 1 ] &&
    grep -q -F -e "$sentence" "$scratch/output" && wrong=''
  report "$text" "$wrong"
}
refuses "an option that is unknown is refused" '--levels: there is no such option' --levels 1
refuses "a name without a value is refused" '--case: a value is missing' --case
refuses "a case that is unknown is refused" '--case vortex: takes sod bump time' --case vortex
refuses "an unstable step ends with a sentence" 'lower --cfl' --cfl 50 --steps 100
refuses "an end after waves have reached the ends of the tube is refused" '--end 0.4: takes 1e-9 .. 0.25' --end 0.4
refuses "a tube of one cell is refused" 'at least 4 cells along' --size 1x1x1
refuses "so is a channel whose bump lies between its nodes" 'at least 4 cells along' --case bump --size 3x4x1
refuses "so are more cells along an axis than a GPU has planes" '100000x4x4: takes 1 .. 65500' --size 100000x4x4
refuses "so is a grid that is too large" 'at most 2147483647 cells' --size 65500x65500x1
refuses "a size that is not decimal is refused" '--size 0x10x4x4: takes' --size 0x10x4x4
refuses "a number of steps that is not whole is refused" '--steps 1.5: takes' --steps 1.5
refuses "a name of a picture that gnuplot would misread is refused" 'without quotes' --picture "it's"
run --size 4x1x1
report "a tube of four cells has errors that are numbers" "$(grep -i nan "$scratch/output"; errors >/dev/null)"
run --help
report "--help lists the options" "$(grep -q -e '^--picture' "$scratch/output" || shown "$scratch/output")"
for arguments in --help '--size 4x1x1'; do
  full="$arguments on a full device is an error"
  if [ -w /dev/full ]; then
    "$scratch/euler3d" $arguments >/dev/full 2>"$scratch/output"
    report "$full" "$([ $? = 2 ] && grep -q 'cannot be written' "$scratch/output" || shown "$scratch/output")"
  else
    skip "$full" 'no /dev/full'
  fi
done

# Without a GPU a stand-in on the host shows that transfers put each number where it belongs. make finds the other
# objects newer than their sources.
mkdir "$scratch/apart" && cp -p "$scratch"/*.[cho] "$scratch/apart" && rm -f "$scratch/apart/device_cuda.o" &&
  sed 's/^objects = .*/& device_cuda.o/' "$scratch/Makefile" >"$scratch/apart/Makefile" || exit 99
cat >"$scratch/apart/device_cuda.c" <<'end'
#include "euler3d.h"

#include <string.h>

static struct device device;

static void stream_copy(void *stream, void *to, size_t to_pitch, const void *from, size_t pitch, size_t width,
                        size_t rows)
{
  (void)stream;
  for (size_t r = 0; r < rows; r++) memcpy((char *)to + r * to_pitch, (const char *)from + r * pitch, width);
}

const struct device *cuda_device(void)
{
  device = cpu_device, device.stream_copy = stream_copy;
  return &device;
}
end
report "it builds with a device of one's own" \
  "$(compile "$scratch/apart" OPENMP="$(variable OPENMP_CFLAGS)" NVCC='')"
ends --scheme implicit >"$scratch/implicit"
run() { "$scratch/apart/euler3d" "$@" >"$scratch/output" 2>&1; }
report "all ways of transfer give the flow of a CPU, in one block and in many" "$(
  for blocks in 1x1x1 2x2x1; do
    for transfer in whole planes streams; do
      ends --scheme implicit --transfer $transfer --blocks $blocks | diff "$scratch/implicit" - 2>&1
    done
  done
  ends --scheme implicit --device cuda | diff "$scratch/implicit" - 2>&1)"
