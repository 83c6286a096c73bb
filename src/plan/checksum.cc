#include "plan/checksum.h"

#include <bit>
#include <cstring>

namespace lathe {
namespace {

constexpr uint64_t prime = 0x9e3779b97f4a7c15u;

/// For every state one to one in the word, and for every word one to one in the state.
uint64_t mix(uint64_t state, uint64_t word) { return std::rotl(state ^ word, 29) * prime; }

}  // namespace

uint64_t checksum_of(const void* data, size_t bytes) {
  constexpr size_t lanes = 8;  // chains that do not wait for each other
  uint64_t state[lanes], words[lanes];
  for (size_t i = 0; i < lanes; ++i) state[i] = prime * (2 * i + 1);
  const char* p = static_cast<const char*>(data);
  size_t left = bytes;
  for (; left >= sizeof words; left -= sizeof words, p += sizeof words) {
    std::memcpy(words, p, sizeof words);
    for (size_t i = 0; i < lanes; ++i) state[i] = mix(state[i], words[i]);
  }
  std::memset(words, 0, sizeof words);
  if (left > 0) std::memcpy(words, p, left);
  uint64_t all = mix(prime, bytes);
  for (size_t i = 0; i < lanes; ++i) all = mix(all, mix(state[i], words[i]));
  return all;
}

}  // namespace lathe
