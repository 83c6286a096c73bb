#!/usr/bin/env bash
# A valid C++ program prints other text once it is compiled with -fsanitize=integer-divide-by-zero (or =undefined, which contains it).
# g++ 12.2.0 (Debian 12.2.0-14+deb12u1), x86-64. Seen on 2026-11-30, by this script:
#
#   without: ff FF
#   with -fsanitize=bounds: ff FF
#   with -fsanitize=integer-divide-by-zero: 99 FF    (the digits vary from run to run of the compiler)
#
# The program reads (upper ? "0123456789ABCDEF" : "0123456789abcdef")[size % base]. The check keeps the operands of % in
# temporaries, and the front end moves the index into both branches of the condition; the temporaries are set in the branch of
# the first literal alone. The other branch reads the wrong character. Nothing is reported, except where checks of bounds are on as
# well and that character lies behind the literal: the report then names an index that the program never computes. The C front end of
# the same release is right. A pointer that is chosen first, and then indexed, helps.
#
# Exits with 1 where any of it is otherwise now. Needs Debian 12 with its headers of libc and binutils.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
release=12.2.0-14+deb12u1
for package in cpp-12 gcc-12 g++-12 libgcc-12-dev libstdc++-12-dev libubsan1; do
  apt-get download -q "$package=$release" >/dev/null 2>&1
done
for archive in *.deb; do dpkg -x "$archive" root; done

cat >digits.cc <<'PROGRAM'
#include <cstdio>
#include <string>

int main(int arguments, char**) {
  const bool upper = arguments > 1;
  unsigned long size = 255;
  const unsigned long base = 16;
  std::string digits;
  do digits.insert(digits.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[size % base]);
  while (size /= base);
  std::puts(digits.c_str());
}
PROGRAM

# printed FLAGS…: what the program prints in lower case and in upper case.
printed() {
  root/usr/bin/g++-12 -std=c++20 -O1 "$@" digits.cc -o digits
  echo "$(LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu ./digits) $(LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu ./digits upper)"
}
without=$(printed)
bounds=$(printed -fsanitize=bounds)
division=$(printed -fsanitize=integer-divide-by-zero)
echo "without: $without"
echo "with -fsanitize=bounds: $bounds"
echo "with -fsanitize=integer-divide-by-zero: $division"
[ "$without" = "ff FF" ] && [ "$bounds" = "ff FF" ] && [ "$division" != "ff FF" ]
