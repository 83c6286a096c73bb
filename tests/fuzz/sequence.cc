// Saved sequences: what is accepted can be gone on with, and is written again as it was.
#include <cstring>
#include <string>

#include "fuzz/targets.h"
#include "generate/generator_impl.h"
#include "io/file.h"
#include "lathe/generate.h"
#include "plan/checksum.h"
#include "support/temp_directory.h"

namespace lathe::fuzz {
namespace {

// Where the header has them.
constexpr size_t fingerprint_at = 16, contents_at = 40, checksum_at = 48, header_bytes = 56;

const Generator& decoder() {
  static const Generator g = [] {
    GeneratorOptions o;
    o.build.threads = 1;
    return Generator::open(LATHE_SOURCE_DIR "/tests/data/decoder", o);
  }();
  return g;
}

/// Returns the bytes with the checksums that they should have. A fingerprint of 0 becomes that of the
/// decoder, which is another one on other processors.
std::string with_checksums(std::string bytes) {
  static const uint64_t fingerprint = GeneratorAccess::impl(decoder())->fingerprint();
  if (bytes.size() < header_bytes) return bytes;
  const auto put = [&](size_t at, uint64_t v) { std::memcpy(bytes.data() + at, &v, sizeof v); };
  uint64_t said = 0;
  std::memcpy(&said, bytes.data() + fingerprint_at, sizeof said);
  if (said == 0) put(fingerprint_at, fingerprint);
  put(contents_at, checksum_of(bytes.data() + header_bytes, bytes.size() - header_bytes));
  put(checksum_at, 0);
  put(checksum_at, checksum_of(bytes.data(), header_bytes));
  return bytes;
}

}  // namespace

void sequence(Bytes data) {
  static const testing::TempDirectory folder;
  const std::string bytes = with_checksums(std::string(chars(data)));
  const auto file = folder.write("given.kv", bytes);
  TokenSequence s;
  const Code code = code_of([&] { s = decoder().load_sequence(file); });
  if (code != Code::none) {
    require(code == Code::state_malformed || code == Code::bad_argument,
            "it is damaged, or of another model");
    return;
  }
  require(s.cached() <= s.size() && s.size() <= decoder().context_length(), "it fits into the context");
  s.save(folder / "again.kv");
  require(read_file(folder / "again.kv") == bytes, "it is written as it was read");
  decoder().compute(s);
  require(s.cached() == s.size(), "it can be gone on with");
}

}  // namespace lathe::fuzz
