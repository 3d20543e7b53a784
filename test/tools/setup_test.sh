#!/bin/bash
# tools/setup against commands that are not the real ones: what it asks apt for,
# and what it says where it cannot help.
set -euo pipefail

setup=$PWD/tools/setup
commands=$TEST_TMPDIR/commands
mkdir "$commands"
for command in env bash printf; do
  ln -s "$(command -v "$command")" "$commands"
done

# A command `$1` that appends its arguments to calls.log and then runs `$2`.
fake() {
  printf '#!/bin/bash\necho "%s $*" >>"%s/calls.log"\n%s\n' "$1" \
    "$TEST_TMPDIR" "$2" >"$commands/$1"
  chmod +x "$commands/$1"
}

# Runs tools/setup with those commands only; its status, output and calls are
# in $status, $output, $calls (those of apt-get).
run() {
  rm -f "$TEST_TMPDIR/calls.log"
  status=0
  output=$(PATH=$commands "$BASH" "$setup" "$@" 2>&1) || status=$?
  calls=$(grep '^apt-get' "$TEST_TMPDIR/calls.log" 2>/dev/null || true)
}

expect() {
  [[ $2 == *"$3"* ]] && return
  echo "FAILED: $1: want '$3' in:" "$2" "(status $status)"
  exit 1
}

run
expect 'without apt the status' "$status" 1
expect 'without apt it lists' "$output" '  libibverbs-dev'
expect 'without apt it says why' "$output" 'no apt-get'

run --fast
expect 'a wrong flag fails' "$status" 1
expect 'a wrong flag is named' "$output" "'--fast'"

if ! grep -q 'VERSION_ID="12"' /etc/os-release; then
  echo 'not Debian 12: the rest is about apt there'
  exit 0
fi

fake sudo 'exec "$@"'
fake apt-get 'exit 0'
fake dpkg-query 'echo "installed g++"; echo "config-files iperf3"; exit 1'
run
expect 'a missing package is installed' "$status" 0
expect 'lists are updated first' "$calls" '-y update'
expect 'what is missing is asked for' "$calls" 'libibverbs-dev'
expect 'removed packages are missing' "$calls" 'iperf3'
[[ $calls != *' g++'* ]] || expect 'g++ is there' "$calls" 'no g++'
[[ $calls != *valgrind* ]] || expect 'bench is not asked' "$calls" 'no valgrind'

run --bench
expect 'bench packages are asked for' "$calls" 'libdpdk-dev'

fake apt-get 'exit 100'
run
expect 'a failure of apt is one of setup' "$status" 100

fake dpkg-query 'shift 3; for p; do echo "installed $p"; done'
run
expect 'nothing missing is no error' "$status" 0
expect 'nothing missing is said' "$output" 'are installed'
[[ -z $calls ]] || expect 'apt is not called' "$calls" 'no apt-get'
