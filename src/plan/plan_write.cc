#include "plan/plan_write.h"

#include <cmath>

#include "plan_generated.h"

namespace lathe {
namespace {

class Writer {
 public:
  std::string run(const Plan& plan, std::span<const StoredArray> arrays) {
    std::vector<flatbuffers::Offset<format::Weight>> weights;
    for (size_t i = 0; i < plan.weights.size(); ++i) weights.push_back(weight(plan.weights[i], arrays[i]));
    const auto graphs = list(plan.graphs, [&](const PlanGraph& g) { return graph(g); });
    const auto symbols = list(plan.symbols, [&](const Plan::Symbol& s) {
      return format::CreateSymbol(b_, b_.CreateString(s.name), s.input, s.axis);
    });
    const auto metadata = list(plan.metadata, [&](const auto& m) {
      return format::CreatePair(b_, b_.CreateString(m.first), b_.CreateString(m.second));
    });
    const auto taps = list(plan.taps, [&](const auto& t) {
      return format::CreateTap(b_, b_.CreateString(t.name), t.value, t.graph);
    });
    std::vector<flatbuffers::Offset<format::Likely>> likely;
    for (const auto& [symbol, size] : plan.likely)
      likely.push_back(format::CreateLikely(b_, b_.CreateString(symbol), size));
    const auto profiles = list(plan.profiles, [&](const PlanProfile& p) { return profile(p); });
    const auto built_in = list(plan.built_in, [&](const BuiltInWeight& w) {
      const auto name = b_.CreateString(w.name);
      const auto dims = b_.CreateVector(w.shape.data(), w.shape.size());
      return format::CreateBuiltIn(b_, name, static_cast<uint8_t>(w.type), dims, w.checksum);
    });
    const auto states = list(plan.states, [&](const PlanState& s) {
      return format::CreateState(b_, s.input, s.output, static_cast<uint8_t>(s.update), s.axis, s.capacity,
                                 s.block);
    });
    const auto device = b_.CreateString(plan.target.device);
    const auto files = list(plan.files, [&](const auto& f) {
      return format::CreatePair(b_, b_.CreateString(f.first), b_.CreateString(f.second));
    });
    const auto backends = b_.CreateVectorOfStrings(plan.backends);
    const auto producer = b_.CreateString(plan.producer), description = b_.CreateString(plan.description);
    b_.Finish(format::CreatePlan(b_, graphs, b_.CreateVector(weights), symbols,
                                 static_cast<uint8_t>(plan.target.isa), backends, metadata, taps, producer,
                                 description, plan.portable, plan.refit, plan.strict, b_.CreateVector(likely),
                                 profiles, built_in, states, device, files));
    return {reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize()};
  }

 private:
  template <class T, class F>
  flatbuffers::Offset<flatbuffers::Vector<std::invoke_result_t<F, const T&>>> list(const std::vector<T>& from,
                                                                                   F&& one) {
    std::vector<std::invoke_result_t<F, const T&>> made;
    for (const T& x : from) made.push_back(one(x));
    return b_.CreateVector(made);
  }

  flatbuffers::Offset<format::Profile> profile(const PlanProfile& p) {
    const auto ranges = list(p.inputs, [&](const PlanProfile::Input& r) {
      const auto sizes = [&](const Shape& s) { return b_.CreateVector(s.data(), s.size()); };
      const auto min = sizes(r.min), opt = sizes(r.opt), max = sizes(r.max);
      return format::CreateRange(b_, r.input, min, opt, max);
    });
    return format::CreateProfile(b_, b_.CreateString(p.name), ranges);
  }

  static std::vector<uint8_t> numbers(const std::vector<DataType>& types) {
    std::vector<uint8_t> made;
    for (DataType t : types) made.push_back(static_cast<uint8_t>(t));
    return made;
  }
  flatbuffers::Offset<format::Type> type(const PlanType& t) {
    std::vector<std::string> shape;
    if (t.shape)
      for (const Dim& d : *t.shape) shape.push_back(d.str());
    const auto dims = b_.CreateVectorOfStrings(shape);
    return format::CreateType(b_, static_cast<uint8_t>(t.kind), static_cast<uint8_t>(t.elem),
                              t.shape.has_value(), dims, b_.CreateString(t.text));
  }
  flatbuffers::Offset<format::Value> value(const PlanValue& v) {
    const auto name = b_.CreateString(v.name);
    return format::CreateValue(b_, name, type(v.type), static_cast<uint8_t>(v.role), v.weight, v.memory,
                               v.alias_of, v.state);
  }
  flatbuffers::Offset<format::Body> body(const PlanBody& body) {
    std::vector<format::Capture> captures;
    for (auto [outer, inner] : body.captures) captures.emplace_back(outer, inner);
    const auto name = b_.CreateString(body.name);
    return format::CreateBody(b_, name, body.graph, b_.CreateVectorOfStructs(captures));
  }
  flatbuffers::Offset<format::Epilogue> epilogue(const std::optional<PlanEpilogue>& e) {
    if (!e) return 0;
    const auto code = b_.CreateVector(e->program.integers());
    const auto constants = b_.CreateVector(e->program.constants());
    return format::CreateEpilogue(b_, code, constants, b_.CreateVector(e->operands));
  }
  flatbuffers::Offset<format::Step> step(const PlanStep& s) {
    const auto op = b_.CreateString(s.op), domain = b_.CreateString(s.domain),
               kernel = b_.CreateString(s.kernel), node = b_.CreateString(s.node);
    const auto origin = b_.CreateVectorOfStrings(s.origin), refusals = b_.CreateVectorOfStrings(s.refusals);
    const auto attrs = attributes(s.attributes);
    const auto tunables = b_.CreateVector(s.tunables);
    const auto inputs = b_.CreateVector(s.inputs), outputs = b_.CreateVector(s.outputs),
               packed = b_.CreateVector(s.packed);
    const auto bodies = list(s.bodies, [&](const PlanBody& x) { return body(x); });
    const auto rest = epilogue(s.epilogue);
    const auto fused = b_.CreateVectorOfStrings(s.fused), unfused = b_.CreateVectorOfStrings(s.unfused);
    const auto timings = list(s.timings, [&](const PlanTiming& t) {
      return format::CreateTiming(b_, b_.CreateString(t.tactic), t.microseconds);
    });
    return format::CreateStep(b_, op, domain, kernel, node, origin, attrs, tunables, inputs, outputs, packed,
                              bodies, refusals, rest, fused, unfused, static_cast<uint8_t>(s.arithmetic),
                              s.fused_arithmetic, timings);
  }
  flatbuffers::Offset<format::Graph> graph(const PlanGraph& g) {
    const auto values = list(g.values, [&](const PlanValue& v) { return value(v); });
    const auto steps = list(g.steps, [&](const PlanStep& s) { return step(s); });
    return format::CreateGraph(b_, values, steps, b_.CreateVector(g.inputs), b_.CreateVector(g.outputs));
  }
  flatbuffers::Offset<format::Weight> weight(const Weight& w, const StoredArray& array) {
    const WeightRecipe& r = w.recipe;
    const auto source = b_.CreateString(r.source), op = b_.CreateString(r.op),
               domain = b_.CreateString(r.domain), kernel = b_.CreateString(r.kernel),
               name = b_.CreateString(w.name);
    const auto from = b_.CreateVector(r.from);
    const std::vector<uint8_t> outputs = numbers(r.outputs);
    const auto recipe =
        format::CreateRecipe(b_, static_cast<uint8_t>(r.kind), source, from, op, domain, kernel,
                             attributes(r.attributes), r.output, b_.CreateVector(outputs));
    const Tensor& t = w.value.tensor();
    const auto dims = b_.CreateVector(t.shape().data(), t.rank());
    return format::CreateWeight(b_, name, recipe, static_cast<uint8_t>(t.type()), dims, array.offset,
                                strings(t), array.stored, array.checksum);
  }

  auto attributes(const Attributes& all)
      -> flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<format::Attribute>>> {
    std::vector<flatbuffers::Offset<format::Attribute>> made;
    for (const auto& [name, value] : all) made.push_back(attribute(name, value));
    return b_.CreateVector(made);
  }
  flatbuffers::Offset<format::Attribute> attribute(const std::string& name, const AttributeValue& v) {
    const auto key = b_.CreateString(name);
    const auto text =
        b_.CreateString(std::holds_alternative<std::string>(v) ? std::get<std::string>(v) : std::string());
    const auto ints = b_.CreateVector(get<std::vector<int64_t>>(v));
    const auto floats = b_.CreateVector(get<std::vector<float>>(v));
    const auto texts = b_.CreateVectorOfStrings(get<std::vector<std::string>>(v));
    std::vector<Tensor> all = get<std::vector<Tensor>>(v);
    if (const Tensor* t = std::get_if<Tensor>(&v)) all.push_back(*t);
    const auto tensors = list(all, [&](const Tensor& t) { return blob(t); });
    const int64_t* i = std::get_if<int64_t>(&v);
    const float* f = std::get_if<float>(&v);
    // FlatBuffers leaves out what equals the default, as -0 equals 0.
    b_.ForceDefaults(f && std::signbit(*f));
    const auto made = format::CreateAttribute(b_, key, static_cast<uint8_t>(v.index()), i ? *i : 0,
                                              f ? *f : 0.0f, text, ints, floats, texts, tensors);
    b_.ForceDefaults(false);
    return made;
  }
  template <class T>
  static T get(const AttributeValue& v) {
    const T* p = std::get_if<T>(&v);
    return p ? *p : T{};
  }
  flatbuffers::Offset<format::Blob> blob(const Tensor& t) {
    const auto dims = b_.CreateVector(t.shape().data(), t.rank());
    const size_t bytes = t.type() == DataType::string ? 0 : t.bytes();
    const auto data = b_.CreateVector(static_cast<const uint8_t*>(t.data()), bytes);
    return format::CreateBlob(b_, static_cast<uint8_t>(t.type()), dims, data, strings(t));
  }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> strings(
      const Tensor& t) {
    std::vector<std::string> all;
    if (t.type() == DataType::string) all.assign(t.as<std::string>().begin(), t.as<std::string>().end());
    return b_.CreateVectorOfStrings(all);
  }

  flatbuffers::FlatBufferBuilder b_;
};

}  // namespace

std::string write_structure(const Plan& plan, std::span<const StoredArray> arrays) {
  return Writer().run(plan, arrays);
}

}  // namespace lathe
