#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/file.h"
#include "generate/generator_impl.h"
#include "lathe/error.h"
#include "plan/checksum.h"
#include "runtime/state_impl.h"

namespace lathe {
namespace {

std::atomic<uint64_t> last_serial{0};

constexpr std::string_view sequence_magic = "LATHESEQ";
constexpr uint32_t sequence_version = 1;

/// The beginning of the file; tokens follow, and then the elements of each state, in the order of their
/// names.
struct TokenSequenceHeader {
  char magic[8];
  uint32_t version, states;
  uint64_t fingerprint;
  int64_t tokens, cached;
  uint64_t contents;  // checksum of all that follows
  uint64_t checksum;  // of the header, where this is 0
};
static_assert(sizeof(TokenSequenceHeader) == 56);

uint64_t checksum_of_header(TokenSequenceHeader h) {
  h.checksum = 0;
  return checksum_of(&h, sizeof h);
}

/// Returns the shape that a state has with so many tokens.
Shape shape_with(const State& s, int64_t length) {
  Shape shape = s.shape();
  if (s.axis() >= 0) shape[static_cast<size_t>(s.axis())] = length;
  return shape;
}

}  // namespace

TokenSequence::Cache::Cache(std::shared_ptr<const Generator::Impl> by, NamedStates s)
    : generator(std::move(by)), serial(++last_serial), states(std::move(s)) {}

TokenSequence::Cache::~Cache() { generator->decoder.forget(serial); }

TokenSequenceMemory TokenSequence::Cache::memory(bool is_shared) const {
  TokenSequenceMemory m;
  for (const auto& [name, s] : states) {
    const State::Impl& i = *StateAccess::impl(s);
    if (!i.in_blocks()) (is_shared ? m.shared : m.own) += s.bytes();
    for (const auto& block : i.owners) (is_shared || block.use_count() > 1 ? m.shared : m.own) += i.reserved;
  }
  return m;
}

std::shared_ptr<TokenSequence::Cache> TokenSequence::Cache::clone() const {
  NamedStates copies;
  for (const auto& [name, s] : states) copies.emplace(name, s.clone());
  auto made = std::make_shared<Cache>(generator, std::move(copies));
  made->length = length;
  return made;
}

void TokenSequence::Cache::rewind(int64_t to) {
  if (to == length) return;
  for (auto& [name, s] : states) {
    if (to == 0)
      s.clear();
    else
      s.rewind(to);
  }
  length = to;
}

int64_t TokenSequence::cached() const { return cached_; }

void TokenSequence::append(std::span<const int32_t> tokens) {
  if (cache_) cache_->generator->check_tokens(tokens);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void TokenSequence::rewind(int64_t size) {
  if (size < 0 || size > this->size())
    throw Error(Code::bad_argument, "generate", "a size from 0 to " + std::to_string(this->size()),
                std::to_string(size));
  tokens_.resize(static_cast<size_t>(size));
  if (cached_ <= size) return;
  cached_ = cache_->generator->decoder.rewinds() ? size : 0;
}

void TokenSequence::assign(std::span<const int32_t> tokens) {
  if (cache_) cache_->generator->check_tokens(tokens);
  const auto common = std::ranges::mismatch(tokens_, tokens).in1 - tokens_.begin();
  rewind(common);
  append(tokens.subspan(static_cast<size_t>(common)));
}

TokenSequenceMemory TokenSequence::memory() const {
  return cache_ ? cache_->memory(cache_.use_count() > 1) : TokenSequenceMemory();
}

void TokenSequence::save(const std::filesystem::path& file) const {
  if (!cache_)
    throw Error(Code::bad_argument, "generate", "a sequence of a generator", "an empty one",
                "make it with Generator::sequence");
  TokenSequenceHeader h{};
  std::memcpy(h.magic, sequence_magic.data(), sequence_magic.size());
  h.version = sequence_version;
  h.fingerprint = cache_->generator->fingerprint();
  h.tokens = size();
  h.cached = cached_;
  std::string contents(reinterpret_cast<const char*>(tokens_.data()), tokens_.size() * sizeof(int32_t));
  if (cached_ > 0) {
    h.states = static_cast<uint32_t>(cache_->states.size());
    for (const auto& [name, s] : cache_->states) {
      State part = s;
      if (s.axis() >= 0 && s.length() != cached_) {
        part = s.clone();
        part.rewind(cached_);
      }
      const Tensor t = part.tensor();
      contents.append(static_cast<const char*>(t.data()), t.bytes());
    }
  }
  h.contents = checksum_of(contents.data(), contents.size());
  h.checksum = checksum_of_header(h);
  AtomicFile out(file);
  out.write({reinterpret_cast<const char*>(&h), sizeof h});
  out.write(contents);
  out.commit();
}

TokenSequence Generator::load_sequence(const std::filesystem::path& path) const {
  const auto malformed = [&](std::string expected, std::string got) {
    return file_error(Code::state_malformed, path, std::move(expected), std::move(got),
                      "save the sequence again");
  };
  const std::shared_ptr<const FileBytes> file = read_file(open_regular(path), path);
  std::string_view bytes = file->view();
  TokenSequenceHeader h;
  if (bytes.size() < sizeof h) throw malformed("a sequence", std::to_string(bytes.size()) + " bytes");
  std::memcpy(&h, bytes.data(), sizeof h);
  bytes.remove_prefix(sizeof h);
  if (std::string_view(h.magic, sizeof h.magic) != sequence_magic)
    throw malformed("a sequence, which begins with " + std::string(sequence_magic), "another file");
  if (h.version != sequence_version)
    throw malformed("version " + std::to_string(sequence_version), "version " + std::to_string(h.version));
  if (checksum_of_header(h) != h.checksum)
    throw malformed("a header that matches its checksum", "a damaged one");
  if (checksum_of(bytes.data(), bytes.size()) != h.contents)
    throw malformed("contents that match their checksum", "damaged ones");
  if (h.tokens < 0 || h.tokens > impl_->context_length || h.cached < 0 || h.cached > h.tokens ||
      static_cast<size_t>(h.tokens) * sizeof(int32_t) > bytes.size())
    throw malformed("at most " + std::to_string(impl_->context_length) + " tokens, which are all there",
                    std::to_string(h.tokens) + " tokens, " + std::to_string(h.cached) + " of them computed");
  if (h.fingerprint != impl_->fingerprint())
    throw file_error(Code::bad_argument, path, "keys and values that this generator would compute",
                     "those of another model, or of other kernels", "compute the sequence anew");
  std::vector<int32_t> tokens(static_cast<size_t>(h.tokens));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), tokens.size() * sizeof(int32_t));
  bytes.remove_prefix(tokens.size() * sizeof(int32_t));
  TokenSequence s = sequence(tokens);
  if (h.cached == 0) {
    if (h.states != 0 || !bytes.empty())
      throw malformed("nothing behind tokens that were not computed",
                      std::to_string(bytes.size()) + " bytes");
    return s;
  }
  NamedStates states = impl_->decoder.states();
  if (h.states != states.size())
    throw malformed(std::to_string(states.size()) + " states", std::to_string(h.states));
  for (auto& [name, state] : states) {
    const Shape shape = shape_with(state, h.cached);
    const size_t whole =
        bytes_for(state.type(), static_cast<size_t>(checked_count(shape, state.type(), "the state")));
    if (whole > bytes.size()) throw malformed(std::to_string(whole) + " bytes of '" + name + "'", "less");
    state.assign(Tensor::view(state.type(), shape, const_cast<char*>(bytes.data())));
    bytes.remove_prefix(whole);
  }
  if (!bytes.empty()) throw malformed("nothing behind the states", std::to_string(bytes.size()) + " bytes");
  auto cache = std::make_shared<TokenSequence::Cache>(impl_, std::move(states));
  cache->length = h.cached;
  TokenSequenceAccess::cache(s) = std::move(cache);
  TokenSequenceAccess::cached(s) = h.cached;
  return s;
}

}  // namespace lathe
