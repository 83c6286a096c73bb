#!/usr/bin/env bash
# package_test: installs the build given, then builds and runs a ten-line program against it, through CMake and pkg-config;
# and looks at what the shared libraries export and need.
#   run.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program is the README's own: its first C++ block, with a main around the statements.
program=$work/program
mkdir -p "$program"
cp "$source"/tests/package/{CMakeLists.txt,save_plan.cpp,run_plan.cpp} "$program/"
awk '/^```cpp/ { on = 1; next } /^```/ { if (on) exit } on' "$source/README.md" >"$work/block"
{
  echo '#include <cstdio>'
  grep '^#include' "$work/block"
  echo 'int main() {'
  grep -v '^#include' "$work/block"
  echo '}'
} >"$program/main.cpp"
cd "$source" # its paths are relative to the source tree

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -G Ninja -S "$program" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/cmake" >/dev/null
for flavour in lathe lathe_static; do
  "$work/cmake/with_$flavour" | grep -qE '^([01]\.[0-9]{3} ){10}$'
  echo "find_package, $flavour: runs"
done

"$work/cmake/save_plan" examples/digits/digits.onnx "$work/digits.lathe"
for flavour in lathe_runtime lathe_runtime_static; do
  [ "$("$work/cmake/plan_with_$flavour" "$work/digits.lathe")" = "$("$work/cmake/with_lathe")" ]
  echo "find_package, $flavour: runs a plan"
done
if readelf -d "$work/cmake/plan_with_lathe_runtime" | grep -q 'liblathe\.so'; then
  echo "a program for plans needs the whole library"
  exit 1
fi

libdir=$(dirname "$(find "$work/prefix" -name liblathe.so | head -1)")
flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs lathe)
# shellcheck disable=SC2086
g++ -std=c++20 "$program/main.cpp" -o "$work/with_pkg_config" $flags -Wl,-rpath,"$libdir"
"$work/with_pkg_config" | grep -qE '^([01]\.[0-9]{3} ){10}$'
echo "pkg-config: runs"

# What the documents show can be pasted into a program.
python3 "$source/tests/documents/document_examples.py" --shown "$work/examples.cpp" "$source"/docs/{guide,reference}/*.md
# shellcheck disable=SC2086
g++ -std=c++20 "$work/examples.cpp" -o "$work/examples" $flags -Wl,-rpath,"$libdir"
echo "examples of the documents: compile and link"

# The components come along, one directory below, and are found by programs that link either library.
for component in "$libdir"/lathe/liblathe_*.so; do
  [ -e "$component" ] || break
  if readelf -d "$component" | grep NEEDED | grep -q 'liblathe'; then
    echo "$component needs the library that opens it"
    exit 1
  fi
  grep -qF "$component" <<<"$("$work/prefix/bin/lathe" info)"
  echo "$(basename "$component"): found by the command"
done

for library in liblathe.so liblathe_runtime.so; do
  # Everything defined and visible is in namespace lathe, or is type information and vtables of its classes.
  strangers=$(nm -D --defined-only -C "$libdir/$library" | awk '{ $1 = $2 = ""; print }' | sed 's/^ *//' |
    grep -vE '^(lathe::|(vtable|typeinfo|typeinfo name|VTT|guard variable) for lathe::|lathe_|.* lathe::[A-Za-z_:]+(<.*>)?\(|lathe[0-9.]*$)' || true)
  if [ -n "$strangers" ]; then
    echo "$library exports what is not ours:"
    echo "$strangers" | head -20
    exit 1
  fi
  if readelf -d "$libdir/$library" | grep NEEDED | grep -vE 'libstdc\+\+|libm\.|libgcc_s|libc\.|ld-linux|libpthread|libdl'; then
    echo "$library needs more than the C++ run-time"
    exit 1
  fi
  echo "$library: exports only lathe, needs only the C++ run-time"
done
