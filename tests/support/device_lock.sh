#!/bin/sh
# Runs one test, so that no other test uses a GPU while one fills its memory: device_lock.sh FILE TEST COMMAND...
# A test that fills the memory holds the lock on FILE alone; all others share it. Nothing is locked where there is no
# GPU or no program flock. Any of KARST_GPU_FILES shows that there is a GPU: by default the devices of NVIDIA's driver
# on Linux, on its boards, and in Windows' subsystem for Linux.
file=$1 test=$2
shift 2
gpu=no
for device in ${KARST_GPU_FILES-/dev/nvidiactl /dev/nvhost-gpu /dev/dxg}; do
  [ ! -e "$device" ] || gpu=yes
done
case ${test##*/} in
test_cuda) hold=--exclusive ;; # its "a solve without device memory"
*) hold=--shared ;;
esac
# Not every system's flock has these options.
if [ $gpu = yes ] && flock --close --shared /dev/null true 2>/dev/null; then
  # The command does not inherit the open file, so that what it leaves running does not keep the lock.
  set -- flock --close $hold "$file" "$@"
fi
exec "$@"
