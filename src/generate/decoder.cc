#include "generate/decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lathe/error.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Working memory that is kept for runs to come.
constexpr size_t most_idle = 4;

constexpr const char* how_to_export =
    "export the model for text-generation-with-past: `lathe export MODEL -o FOLDER`";

bool is_any(std::string_view name, std::initializer_list<std::string_view> of) {
  return std::ranges::find(of, name) != of.end();
}

/// Makes a view of numbers, converted to the input's type.
Tensor view(DataType type, std::vector<int64_t>& wide, std::vector<int32_t>& narrow, const Shape& shape) {
  if (type == DataType::int64) return Tensor::view(type, shape, wide.data());
  narrow.assign(wide.begin(), wide.end());
  return Tensor::view(type, shape, narrow.data());
}

}  // namespace

Error Decoder::no_decoder(std::string expected, std::string got) {
  return Error(Code::not_supported, "generate", std::move(expected), std::move(got), how_to_export);
}
bool Decoder::is_tokens(std::string_view input) {
  return is_any(input, {"input_ids", "tokens", "token_ids"});
}

Decoder::Decoder(Engine engine) : engine_(std::move(engine)) {
  if (engine_.numerics() != Numerics::strict)
    throw Error(Code::bad_argument, "generate", "an engine with strict numerics", "normal ones",
                "set BuildOptions::numerics");
  for (const IoInfo& io : engine_.inputs()) {
    if (!io.state.empty()) {
      if (io.shape && !io.shape->empty())
        if (const auto symbol = io.shape->front().symbol_name()) sizes_[*symbol] = 1;
      continue;
    }
    if (is_tokens(io.name)) {
      tokens_ = input(io);
    } else if (io.name == "attention_mask") {
      mask_ = input(io);
    } else if (io.name == "position_ids") {
      positions_ = input(io);
    } else if (io.name == logits_rows_input && io.element_type == DataType::int64) {
      selects_rows_ = true;
    } else if (!io.optional) {
      throw no_decoder("inputs input_ids, attention_mask, position_ids and past keys and values",
                       "'" + io.name + "' " + io.type);
    }
  }
  if (tokens_.name.empty()) throw no_decoder("an input input_ids", "none");
  const IoInfo* logits = nullptr;
  for (const IoInfo& io : engine_.outputs())
    if (io.state.empty() && (io.name == "logits" || !logits)) logits = &io;
  if (!logits || !logits->shape || logits->shape->size() != 3 || !logits->shape->back().is_constant())
    throw no_decoder("an output logits [batch, tokens, vocabulary]",
                     logits ? "'" + logits->name + "'" : "none");
  if (const DataType t = logits->element_type;
      t != DataType::float32 && t != DataType::float16 && t != DataType::bfloat16)
    throw no_decoder("logits of floats", std::string(name_of(logits->element_type)));
  logits_ = logits->name;
  vocabulary_size_ = logits->shape->back().constant();
  none_ = states();
  for (const auto& [name, state] : none_) {
    if (state.axis() < 0)
      rewinds_ = false;
    else
      capacity_ = capacity_ == 0 ? state.capacity() : std::min(capacity_, state.capacity());
  }
  if (capacity_ == 0) throw no_decoder("keys and values that grow, as states", "none");
}

Decoder::Input Decoder::input(const IoInfo& io) const {
  if (io.element_type != DataType::int64 && io.element_type != DataType::int32)
    throw no_decoder("'" + io.name + "' of int64 or int32", std::string(name_of(io.element_type)));
  if (!io.shape || io.shape->size() != 2)
    throw no_decoder("'" + io.name + "' [batch, tokens]",
                     io.shape ? std::to_string(io.shape->size()) + " axes" : "an unknown rank");
  return {io.name, io.element_type};
}

NamedShapes Decoder::shapes(int64_t past, int64_t fresh) const {
  NamedShapes all{{tokens_.name, {1, fresh}}};
  if (mask_) all[mask_->name] = {1, past + fresh};
  if (positions_) all[positions_->name] = {1, fresh};
  if (selects_rows_) all[logits_rows_input] = {1};
  const std::map<std::string, int64_t, std::less<>> known(sizes_.begin(), sizes_.end());
  for (const auto& [name, state] : none_) {
    Shape shape = state.shape();
    if (state.axis() >= 0) shape[static_cast<size_t>(state.axis())] = past;
    all[name] = shape;
  }
  return all;
}

std::span<const float> Decoder::run(DecoderRun& r, const NamedStates& states, uint64_t serial,
                                    std::span<const int32_t> tokens, int64_t begin, int64_t wanted,
                                    RunControl* control) const {
  const auto end = static_cast<int64_t>(tokens.size()), fresh = end - begin;
  if (serial == 0 || r.states != serial) {
    r.states = 0;
    r.context.bind_states(states);
    r.states = serial;
  }
  r.tokens.assign(tokens.begin() + begin, tokens.end());
  r.context.bind_input(tokens_.name, view(tokens_.type, r.tokens, r.tokens32, {1, fresh}));
  if (mask_) {
    r.mask.resize(static_cast<size_t>(std::max<int64_t>(end, static_cast<int64_t>(r.mask.size()))), 1);
    if (mask_->type == DataType::int64) {
      r.context.bind_input(mask_->name, Tensor::view(DataType::int64, {1, end}, r.mask.data()));
    } else {
      r.mask32.resize(r.mask.size(), 1);
      r.context.bind_input(mask_->name, Tensor::view(DataType::int32, {1, end}, r.mask32.data()));
    }
  }
  if (positions_) {
    r.positions.resize(static_cast<size_t>(fresh));
    std::iota(r.positions.begin(), r.positions.end(), begin);
    r.context.bind_input(positions_->name, view(positions_->type, r.positions, r.positions32, {1, fresh}));
  }
  if (selects_rows_) {
    r.rows.resize(static_cast<size_t>(wanted));
    std::iota(r.rows.begin(), r.rows.end(), fresh - wanted);
    r.context.bind_input(logits_rows_input, Tensor::view(DataType::int64, {wanted}, r.rows.data()));
  }
  r.context.run(control);
  const Tensor& logits = r.context.output(logits_).tensor();
  const int64_t rows = logits.dim(1), skipped = rows - wanted;
  const auto first = static_cast<size_t>(skipped * vocabulary_size_),
             count = static_cast<size_t>(wanted * vocabulary_size_);
  if (logits.type() == DataType::float32) return logits.as<float>().subspan(first, count);
  r.logits.resize(count);
  for (size_t i = 0; i < count; ++i)
    r.logits[i] = static_cast<float>(load_double(logits, static_cast<int64_t>(first + i)));
  return r.logits;
}

void Decoder::forget(uint64_t serial) const noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& r : idle_) {
    if (r->states != serial) continue;
    r->states = 0;
    try {
      r->context.bind_states(none_);
    } catch (...) {  // no memory for it: what is bound stays until the next run
    }
  }
}

std::unique_ptr<DecoderRun> Decoder::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto r = std::move(idle_.back());
      idle_.pop_back();
      return r;
    }
  }
  return std::make_unique<DecoderRun>(engine_.create_context());
}

void Decoder::give_back(std::unique_ptr<DecoderRun> r) const {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < most_idle) idle_.push_back(std::move(r));
}

}  // namespace lathe
