#!/bin/sh
# make check prints a line for each test and each check that failed, and keeps every check in the test's files .log and
# .trs. No other test uses a GPU while one fills its memory.
. "$srcdir/tests/support/report.sh"
mkdir "$scratch/tests"

# same TEXT FOUND EXPECTED checks that the text found is the one expected.
same()
{
  report "$1" "$([ "$2" = "$3" ] || printf 'found:\n%s\nexpected:\n%s\n' "$2" "$3")"
}

# run NAME TEXT runs a test that prints the text, as make check does.
run()
{
  printf '#!/bin/sh\n%s\n' "$2" >"$scratch/$1"
  (cd "$scratch" && builddir=$scratch AM_TAP_AWK=awk \
    sh "$srcdir/tests/support/run_test.sh" "$srcdir/build-aux/tap-driver.sh" \
    --test-name "$1" --log-file "$1.log" --trs-file "$1.trs" --color-tests yes --enable-hard-errors yes \
    --expect-failure no -- sh "./$1" 2>&1)
}

same "a test that passes is a line" "$(run tests/test_good 'echo 1..3
echo ok 1 - one
echo ok 2 - two
echo "ok 3 - three # SKIP no reason"')" "PASS: tests/test_good (2 passed, 1 skipped)"
same "its checks are kept" "$(grep -c '^:test-result: PASS\|^:test-result: SKIP' "$scratch/tests/test_good.trs")" 3
same "the output of a test is kept" "$(grep -c '^ok' "$scratch/tests/test_good.log")" 3
same "a check that fails is printed" "$(run tests/test_bad 'echo ok 1 - one
echo not ok 2 - two is two
echo 1..2')" "FAIL: tests/test_bad 2 - two is two
FAIL: tests/test_bad (1 passed, 1 failed), see tests/test_bad.log"
same "a script's log is named" "$(run tests/test_bad.sh 'echo not ok 1 - one
echo 1..1' | tail -n 1)" "FAIL: tests/test_bad.sh (0 passed, 1 failed), see tests/test_bad.sh.log"
same "a test that crashes is printed" "$(run tests/test_crash 'echo ok 1 - one
echo 1..1
kill -SEGV $$')" "ERROR: tests/test_crash - exited with status 139 (terminated by signal 11?)
FAIL: tests/test_crash (1 passed, 1 failed), see tests/test_crash.log"
same "a test that bails out is printed" "$(run tests/test_bail 'echo "Bail out! no memory"')" \
  "ERROR: tests/test_bail - Bail out! no memory
FAIL: tests/test_bail (0 passed, 1 failed), see tests/test_bail.log"
same "a test that cannot run here is a line" "$(run tests/test_none 'echo "1..0 # SKIP no GPU"')" \
  "SKIP: tests/test_none (0 passed, 1 skipped)"

# free LOCK... prints which locks another test would get while a test of this name runs, where the files show a GPU.
free()
{
  KARST_GPU_FILES=$2 sh "$srcdir/tests/support/device_lock.sh" "$scratch/lock" "$1" sh -c '
    for hold in shared exclusive; do flock --nonblock --$hold "$0" echo $hold; done' "$scratch/lock"
}

if command -v flock >/dev/null; then
  same "tests on a GPU run together" "$(free tests/lib/test_vector "/none $scratch")" shared
  same "the test that fills the memory of a GPU runs alone" "$(free tests/gpu/test_cuda "/none $scratch")" ""
  same "the test that fills the memory does not wait without a GPU" "$(free tests/gpu/test_cuda /none)" "shared
exclusive"
  same "a test that has ended holds no lock, even if it leaves a process behind" \
    "$(KARST_GPU_FILES=/ sh "$srcdir/tests/support/device_lock.sh" "$scratch/lock" tests/gpu/test_cuda \
      sh -c 'tail -f /dev/null >/dev/null 2>&1 & echo $!' >"$scratch/left"
      free tests/lib/test_vector /none
      kill "$(cat "$scratch/left")")" "shared
exclusive"
else
  skip "no other test uses a GPU while one fills its memory" 'no program flock'
fi
same "without the program flock a test runs as it is" "$(mkdir "$scratch/few"
  ln -s "$(command -v sh)" "$scratch/few"
  PATH=$scratch/few KARST_GPU_FILES=/ sh "$srcdir/tests/support/device_lock.sh" "$scratch/lock" test_cuda \
    sh -c 'echo ran')" ran
same "the lock passes on the exit status of a test" "$(
  KARST_GPU_FILES=/ sh "$srcdir/tests/support/device_lock.sh" "$scratch/lock" test_vector sh -c 'exit 3'
  echo $?)" 3
echo "1..$number"
