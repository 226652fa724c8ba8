#!/bin/sh
# Runs one test for "make check": run_test.sh DRIVER OPTION... -- COMMAND..., where DRIVER is Automake's driver for TAP
# and the rest what Automake passes to it. The driver prints a line for each check; this prints a line for each test,
# and before it each check that failed. All checks are in the files .log and .trs that the driver writes.
name='' log='' previous=''
for argument; do
  case $previous in
  --test-name) name=$argument ;;
  --log-file) log=$argument ;;
  esac
  [ "$argument" != -- ] || break
  previous=$argument
done

# The driver's lines, which may be coloured, are "PASS: NAME 12 - what is true" and the like.
sh "$srcdir/tests/support/device_lock.sh" "$builddir/tests/device.lock" "$name" "${SHELL:-sh}" "$@" |
  ${AM_TAP_AWK-awk} -v name="$name" -v log_file="$log" '
    { gsub(/\033\[[0-9;]*m/, "") }
    ! /^(PASS|XFAIL|SKIP|FAIL|XPASS|ERROR): / { next }
    { count[$1]++ }
    /^(FAIL|XPASS|ERROR)/
    END {
      passed = count["PASS:"] + count["XFAIL:"]
      failed = count["FAIL:"] + count["XPASS:"] + count["ERROR:"]
      skipped = count["SKIP:"]
      outcome = failed ? "FAIL" : passed || !skipped ? "PASS" : "SKIP"
      printf "%s: %s (%d passed%s%s)%s\n", outcome, name, passed, failed ? ", " failed " failed" : "",
        skipped ? ", " skipped " skipped" : "", failed ? ", see " log_file : ""
    }'
