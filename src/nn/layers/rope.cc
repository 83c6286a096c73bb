// Rotary embeddings. Frequencies are rounded to float32 where the published implementations round them, so
// that far positions are rotated by the same angles.
#include <algorithm>
#include <cmath>

#include "lathe/nn/attention.h"
#include "nn/access.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

const std::vector<std::string> types{"default", "linear", "dynamic", "llama3", "yarn", "longrope"};

Error bad(std::string expected, std::string got, std::string remedy = {}) {
  return detail::fault(Code::bad_argument, "rope", std::move(expected), std::move(got), std::move(remedy));
}

double number(int64_t v) { return static_cast<double>(v); }

/// The length that was trained.
double original_positions(const RopeOptions& o) {
  return number(o.original_max_positions ? o.original_max_positions : o.max_positions);
}

double longrope_scale(double factor, double original) {
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
}

/// theta^(2i / rotary_size), in float32.
std::vector<double> periods(double theta, int64_t rotary_size) {
  std::vector<double> p;
  for (int64_t i = 0; i < rotary_size; i += 2)
    p.push_back(std::pow(static_cast<float>(theta), static_cast<float>(i) / static_cast<float>(rotary_size)));
  return p;
}

float inverse(double v) { return 1.0f / static_cast<float>(v); }

/// Long waves are stretched by the factor, short ones left, those between mixed (Llama 3.1).
double llama3(double frequency, const RopeOptions& o) {
  const double original = original_positions(o);
  const double wave = 2 * M_PI / frequency;
  if (wave < original / o.high_freq_factor) return frequency;
  if (wave > original / o.low_freq_factor) return frequency / o.factor;
  const double smooth = (original / wave - o.low_freq_factor) / (o.high_freq_factor - o.low_freq_factor);
  return (1 - smooth) * frequency / o.factor + smooth * frequency;
}

/// YaRN (Peng et al. 2023): a ramp over the dimensions between few and many turns within the original length.
std::vector<double> yarn(const std::vector<double>& period, int64_t rotary_size, const RopeOptions& o) {
  const double original = original_positions(o);
  auto dimension = [&](double turns) {
    return number(rotary_size) * std::log(original / (turns * 2 * M_PI)) / (2 * std::log(o.theta));
  };
  double low = dimension(o.beta_fast), high = dimension(o.beta_slow);
  if (o.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, number(rotary_size - 1));
  if (low == high) high += 0.001;
  std::vector<double> frequencies;
  for (size_t i = 0; i < period.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies.push_back(ramp / (o.factor * period[i]) + (1 - ramp) / period[i]);
  }
  return frequencies;
}

double yarn_scale(double factor, double by = 1) { return factor <= 1 ? 1 : 0.1 * by * std::log(factor) + 1; }

double attention_scale(const RopeOptions& o) {
  if (o.type != "yarn" && o.type != "longrope") return 1;
  if (o.attention_factor) return *o.attention_factor;
  if (o.type == "yarn")
    return o.mscale != 0 && o.mscale_all_dim != 0
               ? yarn_scale(o.factor, o.mscale) / yarn_scale(o.factor, o.mscale_all_dim)
               : yarn_scale(o.factor);
  const double original = original_positions(o);
  return longrope_scale(o.original_max_positions ? number(o.max_positions) / original : o.factor, original);
}

Tensor row(const std::vector<double>& v) {
  Tensor t(DataType::float32, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) t.as<float>()[i] = static_cast<float>(v[i]);
  return t;
}

std::vector<double> stretched(const std::vector<double>& period, const std::vector<double>& by) {
  std::vector<double> f;
  for (size_t i = 0; i < period.size(); ++i)
    f.push_back(inverse(static_cast<float>(by[i]) * static_cast<float>(period[i])));
  return f;
}

/// Older files have rope_scaling, which takes precedence as a whole if both are there.
const char* parameters_key(const ModelConfig& config) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (config.has(key) && !config.get<ModelConfig>(key).keys().empty()) return key;
  return nullptr;
}

/// Returns the factor of the type; LongRoPE and YaRN may derive it from the two lengths.
double factor_in(const ModelConfig& r, const RopeOptions& o) {
  if (r.has("factor")) return r.get<double>("factor");
  for (const char* type : {"linear", "dynamic", "llama3", "yarn"})
    if (o.type == type && !(o.type == "yarn" && is_null_in(r, "factor")))
      throw bad("a 'factor' for rope_type '" + o.type + "'", "none");
  return o.type == "longrope" || o.type == "yarn" ? number(o.max_positions) / original_positions(o)
                                                  : o.factor;
}

}  // namespace

RopeOptions RopeOptions::from(const ModelConfig& config) {
  RopeOptions o;
  o.max_positions = config.get<int64_t>("max_position_embeddings", o.max_positions);
  o.original_max_positions = config.get<int64_t>("original_max_position_embeddings", 0);
  o.theta = config.get<double>("rope_theta", o.theta);
  o.partial = config.get<double>("partial_rotary_factor", o.partial);
  if (const char* key = parameters_key(config)) {
    const auto r = config.get<ModelConfig>(key);
    for (const char* layers : {"full_attention", "sliding_attention"})
      if (r.has(layers))
        throw bad("one set of parameters for all layers",
                  "'" + std::string(key) + "' with one for '" + layers + "'");
    o.type = r.get<std::string>("rope_type", r.get<std::string>("type", o.type));
    if (o.type == "su") o.type = "longrope";  // its name at first
    o.theta = r.get<double>("rope_theta", o.theta);
    o.partial = r.get<double>("partial_rotary_factor", o.partial);
    // The first files have this key beside the other parameters.
    if (o.original_max_positions == 0)
      o.original_max_positions = r.get<int64_t>("original_max_position_embeddings", 0);
    o.factor = factor_in(r, o);
    o.low_freq_factor = r.get<double>("low_freq_factor", o.low_freq_factor);
    o.high_freq_factor = r.get<double>("high_freq_factor", o.high_freq_factor);
    // transformers treats 0 as absent.
    for (const auto& [word, beta] : {std::pair{"beta_fast", &o.beta_fast}, {"beta_slow", &o.beta_slow}})
      if (const auto said = r.get<double>(word, 0); said != 0) *beta = said;
    o.mscale = r.get<double>("mscale", o.mscale);
    o.mscale_all_dim = r.get<double>("mscale_all_dim", o.mscale_all_dim);
    o.truncate = r.get<bool>("truncate", o.truncate);
    o.short_factor = r.get<std::vector<double>>("short_factor", o.short_factor);
    o.long_factor = r.get<std::vector<double>>("long_factor", o.long_factor);
    if (r.has("attention_factor"))
      o.attention_factor = r.get<double>("attention_factor");
    else if (o.type == "longrope")
      o.attention_factor = longrope_scale(o.factor, original_positions(o));
  }
  if (std::ranges::find(types, o.type) == types.end()) {
    const std::string near = detail::near(o.type, types);
    throw bad("a rope_type that is known", "'" + o.type + "'", near.empty() ? detail::listed(types) : near);
  }
  return o;
}

Rope::Rope(int64_t head_size, const RopeOptions& o)
    : head_size_(head_size),
      rotary_size_(static_cast<int64_t>(number(head_size) * o.partial)),
      options_(o),
      attention_scale_(nn::attention_scale(o)) {
  if (std::ranges::find(types, o.type) == types.end())
    throw bad("a type of " + detail::listed(types), "'" + o.type + "'", detail::near(o.type, types));
  if (rotary_size_ < 2 || rotary_size_ % 2 != 0 || rotary_size_ > head_size)
    throw bad("an even part of a head of " + std::to_string(head_size), std::to_string(rotary_size_));
  const std::vector<double> period = periods(o.theta, rotary_size_);
  if (o.type == "yarn") {
    frequencies_ = yarn(period, rotary_size_, o);
  } else if (o.type == "longrope") {
    for (const auto* factors : {&o.short_factor, &o.long_factor})
      if (factors->size() != period.size())
        throw bad(std::to_string(period.size()) + " numbers in short_factor and long_factor",
                  std::to_string(factors->size()));
    frequencies_ = stretched(period, o.short_factor);
    long_frequencies_ = stretched(period, o.long_factor);
  } else {
    for (double p : period) frequencies_.push_back(inverse(p));
  }
  for (double& f : frequencies_) {
    if (o.type == "linear") f = static_cast<float>(f) / static_cast<float>(o.factor);
    if (o.type == "llama3") f = llama3(f, o);
  }
}

/// float32 [rotary_size / 2].
TensorRef Rope::frequencies_for(const Ops& o, const TensorRef& positions) const {
  const TensorRef plain = o.constant(row(frequencies_));
  if (options_.type != "dynamic" && options_.type != "longrope") return plain;
  // The length of the text is its last position + 1.
  const TensorRef length = o.add(o.op("ReduceMax", {positions}, {{"keepdims", int64_t{0}}}), 1);
  if (options_.type == "longrope") {
    return o.where(o.greater(length, original_positions(options_)), o.constant(row(long_frequencies_)),
                   plain);
  }
  // theta grows with the length beyond the trained one: 1 / (theta · growth)^(2i / rotary_size).
  const double longest = number(options_.max_positions), rotary_size = number(rotary_size_);
  const TensorRef beyond = o.cast(o.maximum(length, longest), DataType::float32);
  const TensorRef growth = o.pow(o.sub(o.div(o.mul(beyond, options_.factor), longest), options_.factor - 1),
                                 rotary_size / (rotary_size - 2));
  std::vector<double> exponents;
  for (int64_t i = 0; i < rotary_size_; i += 2) exponents.push_back(number(i) / rotary_size);
  return o.op("Reciprocal", {o.pow(o.mul(growth, options_.theta), o.constant(row(exponents)))});
}

RopeAngles Rope::angles(const TensorRef& positions) const {
  const Ops o(*this, positions);
  const TensorRef at = o.unsqueeze(o.cast(positions, DataType::float32), {1, 3});  // [batch, 1, length, 1]
  TensorRef angle = o.mul(at, frequencies_for(o, positions));
  if (!options_.interleaved) angle = o.concat({angle, angle}, -1);
  auto scaled = [&](const TensorRef& t) { return attention_scale_ == 1 ? t : o.mul(t, attention_scale_); };
  return {scaled(o.op("Cos", {angle})), scaled(o.op("Sin", {angle}))};
}

TensorRef Rope::operator()(const TensorRef& x, const RopeAngles& angles) const {
  const Ops o(*this, x);
  const TensorRef cos = o.cast_like(angles.cos, x), sin = o.cast_like(angles.sin, x);
  const bool whole = rotary_size_ == head_size_;
  const TensorRef part = whole ? x : o.slice(x, -1, 0, rotary_size_);
  TensorRef y;
  if (options_.interleaved) {
    const TensorRef a = o.slice(part, -1, 0, rotary_size_, 2), b = o.slice(part, -1, 1, rotary_size_, 2);
    const TensorRef first = o.sub(o.mul(a, cos), o.mul(b, sin)), second = o.add(o.mul(a, sin), o.mul(b, cos));
    y = o.reshape(o.concat({o.unsqueeze(first, {-1}), o.unsqueeze(second, {-1})}, -1),
                  {0, 0, 0, rotary_size_});
  } else {
    const int64_t half = rotary_size_ / 2;
    const TensorRef rotated =
        o.concat({o.op("Neg", {o.slice(part, -1, half, rotary_size_)}), o.slice(part, -1, 0, half)}, -1);
    y = o.add(o.mul(part, cos), o.mul(rotated, sin));
  }
  return whole ? y : o.concat({y, o.slice(x, -1, rotary_size_, head_size_)}, -1);
}

}  // namespace lathe::nn
