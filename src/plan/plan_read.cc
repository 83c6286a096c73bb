#include "plan/plan_read.h"

#include <algorithm>

#include "base/pages.h"
#include "plan_generated.h"

namespace lathe {
namespace {

[[noreturn]] void malformed(std::string expected, std::string got) {
  throw Error(Code::plan_malformed, "load", std::move(expected), std::move(got), "build the plan again");
}

template <class E>
E enumerator(uint8_t v, uint8_t count, const char* what) {
  if (v >= count) malformed(what, std::to_string(v));
  return static_cast<E>(v);
}

std::string text(const flatbuffers::String* s) { return s ? s->str() : std::string(); }

/// Every vector of the format may be absent: then it is empty.
template <class V, class F>
void each(const V* vector, F&& f) {
  if (!vector) return;
  for (const auto& x : *vector) f(x);
}
template <class T, class V>
std::vector<T> numbers(const V* vector) {
  return vector ? std::vector<T>(vector->begin(), vector->end()) : std::vector<T>{};
}
template <class V>
std::vector<std::string> texts(const V* vector) {
  std::vector<std::string> made;
  each(vector, [&](const flatbuffers::String* s) { made.push_back(text(s)); });
  return made;
}

class Reader {
 public:
  Reader(std::string_view arrays, const std::shared_ptr<const void>& owner)
      : arrays_(arrays), owner_(owner) {}

  Plan run(const format::Plan& p) {
    Plan plan;
    each(p.weights(), [&](const format::Weight* w) { plan.weights.push_back(weight(*w)); });
    fill_with_zeros(plan);
    each(p.graphs(), [&](const format::Graph* g) { plan.graphs.push_back(graph(*g)); });
    each(p.symbols(), [&](const format::Symbol* s) {
      plan.symbols.push_back({text(s->name()), s->input(), s->axis()});
    });
    each(p.metadata(),
         [&](const format::Pair* m) { plan.metadata.emplace_back(text(m->key()), text(m->value())); });
    each(p.taps(), [&](const format::Tap* t) {
      plan.taps.push_back({text(t->name()), t->graph(), t->value()});
    });
    plan.target.isa = plan.built_for = enumerator<Isa>(p.isa(), 3, "an instruction set");
    if (p.device()) plan.target.device = text(p.device());
    plan.portable = p.portable();
    plan.refit = p.refit();
    plan.strict = p.strict();
    each(p.likely(), [&](const format::Likely* l) { plan.likely[text(l->symbol())] = l->size(); });
    each(p.profiles(), [&](const format::Profile* s) { plan.profiles.push_back(profile(*s)); });
    each(p.built_in(), [&](const format::BuiltIn* w) {
      plan.built_in.push_back({text(w->name()),
                               enumerator<DataType>(w->type(), data_type_count, "an element type"),
                               dims(w->dims()), w->checksum()});
    });
    each(p.states(), [&](const format::State* s) {
      plan.states.push_back({s->input(), s->output(),
                             enumerator<PlanState::Update>(s->update(), 4, "an update of a state"), s->axis(),
                             s->capacity(), s->block()});
    });
    each(p.files(),
         [&](const format::Pair* f) { plan.files.emplace_back(text(f->key()), text(f->value())); });
    plan.backends = texts(p.backends());
    plan.producer = text(p.producer());
    plan.description = text(p.description());
    return plan;
  }

 private:
  PlanType type(const format::Type* t) {
    if (!t) malformed("a type for each value", "none");
    PlanType made;
    made.kind = enumerator<PlanType::Kind>(t->kind(), 6, "a kind of value");
    made.elem = enumerator<DataType>(t->elem(), data_type_count, "an element type");
    made.text = text(t->text());
    if (!t->ranked()) return made;
    made.shape.emplace();
    each(t->shape(), [&](const flatbuffers::String* d) { made.shape->push_back(Dim::parse(text(d))); });
    return made;
  }
  PlanValue value(const format::Value& v) {
    PlanValue made;
    made.name = text(v.name());
    made.type = type(v.type());
    made.role = enumerator<ValueRole>(v.role(), 4, "a role");
    made.weight = v.weight();
    made.memory = v.memory();
    made.alias_of = v.alias_of();
    made.state = v.state();
    return made;
  }
  PlanStep step(const format::Step& s) {
    PlanStep made;
    made.op = text(s.op());
    made.domain = text(s.domain());
    made.kernel = text(s.kernel());
    made.node = text(s.node());
    made.origin = texts(s.origin());
    made.attributes = attributes(s.attributes());
    made.tunables = numbers<int64_t>(s.tunables());
    made.inputs = numbers<int32_t>(s.inputs());
    made.outputs = numbers<int32_t>(s.outputs());
    made.packed = numbers<int32_t>(s.packed());
    made.refusals = texts(s.refusals());
    made.fused = texts(s.fused());
    made.unfused = texts(s.unfused());
    made.arithmetic = enumerator<Arithmetic>(s.arithmetic(), arithmetic_kinds, "a kind of arithmetic");
    made.fused_arithmetic = s.fused_arithmetic();
    each(s.timings(), [&](const format::Timing* t) {
      made.timings.push_back({text(t->tactic()), t->microseconds()});
    });
    if (const format::Epilogue* e = s.epilogue())
      made.epilogue = {Pointwise::from(numbers<int64_t>(e->code()), numbers<float>(e->constants())),
                       numbers<int32_t>(e->operands())};
    each(s.bodies(), [&](const format::Body* b) {
      PlanBody body{text(b->name()), b->graph(), {}};
      each(b->captures(),
           [&](const format::Capture* c) { body.captures.emplace_back(c->outer(), c->inner()); });
      made.bodies.push_back(std::move(body));
    });
    return made;
  }
  PlanGraph graph(const format::Graph& g) {
    PlanGraph made;
    each(g.values(), [&](const format::Value* v) { made.values.push_back(value(*v)); });
    each(g.steps(), [&](const format::Step* s) { made.steps.push_back(step(*s)); });
    made.inputs = numbers<uint32_t>(g.inputs());
    made.outputs = numbers<uint32_t>(g.outputs());
    return made;
  }

  static PlanProfile profile(const format::Profile& p) {
    PlanProfile made{text(p.name()), {}};
    each(p.ranges(), [&](const format::Range* r) {
      made.inputs.push_back({r->input(), dims(r->min()), dims(r->opt()), dims(r->max())});
    });
    return made;
  }

  Weight weight(const format::Weight& w) {
    Weight made;
    made.name = text(w.name());
    if (const format::Recipe* r = w.recipe()) {
      made.recipe.kind = enumerator<WeightRecipe::Kind>(r->kind(), 3, "a recipe");
      made.recipe.source = text(r->source());
      made.recipe.from = numbers<uint32_t>(r->from());
      made.recipe.op = text(r->op());
      made.recipe.domain = text(r->domain());
      made.recipe.kernel = text(r->kernel());
      made.recipe.attributes = attributes(r->attributes());
      made.recipe.output = r->output();
      each(r->outputs(), [&](uint8_t t) {
        made.recipe.outputs.push_back(enumerator<DataType>(t, data_type_count, "an element type"));
      });
    }
    const Shape shape = dims(w.dims());
    const auto type = enumerator<DataType>(w.type(), data_type_count, "an element type");
    const auto count = static_cast<size_t>(checked(shape, type));
    if (type == DataType::string) {
      made.value = strings(shape, count, w.strings());
      return made;
    }
    const size_t bytes = bytes_for(type, count);
    made.stored = w.stored();
    made.checksum = w.checksum();
    if (!made.stored) {
      made.value = Tensor::view(type, shape, nullptr);
      return made;
    }
    if (w.offset() % 64 != 0 || w.offset() > arrays_.size() || bytes > arrays_.size() - w.offset())
      malformed("an array within the file",
                std::to_string(bytes) + " bytes at " + std::to_string(w.offset()));
    // Weights are never written: the mapping is read-only.
    made.value = Tensor::view(type, shape, const_cast<char*>(arrays_.data() + w.offset()),
                              std::const_pointer_cast<void>(owner_));
    return made;
  }

  /// Support queries may read the contents of operands, so arrays that are not stored become zeros.
  static void fill_with_zeros(Plan& plan) {
    size_t most = 0;
    for (const Weight& w : plan.weights)
      if (!w.stored) most = std::max(most, w.value.tensor().bytes());
    if (most == 0) return;
    const std::shared_ptr<void> zeros = zero_pages(most);
    if (!zeros)
      malformed("arrays that are left out and fit the address space", std::to_string(most) + " bytes");
    for (Weight& w : plan.weights) {
      if (w.stored) continue;
      const Tensor form = w.value.tensor();
      w.value = Tensor::view(form.type(), form.shape(), zeros.get(), zeros);
    }
  }

  Attributes attributes(const flatbuffers::Vector<flatbuffers::Offset<format::Attribute>>* all) {
    Attributes made;
    each(all, [&](const format::Attribute* a) { made.set(text(a->name()), attribute(*a)); });
    return made;
  }
  AttributeValue attribute(const format::Attribute& a) {
    std::vector<Tensor> tensors;
    each(a.tensors(), [&](const format::Blob* b) { tensors.push_back(blob(*b)); });
    switch (a.kind()) {
      case 0:
        return a.i();
      case 1:
        return a.f();
      case 2:
        return text(a.s());
      case 3:
        if (tensors.size() != 1) malformed("one tensor", std::to_string(tensors.size()));
        return tensors[0];
      case 4:
        return numbers<int64_t>(a.ints());
      case 5:
        return numbers<float>(a.floats());
      case 6:
        return texts(a.strings());
      case 7:
        return tensors;
      default:
        malformed("a kind of attribute", std::to_string(a.kind()));
    }
  }
  Tensor blob(const format::Blob& b) {
    const Shape shape = dims(b.dims());
    const auto type = enumerator<DataType>(b.type(), data_type_count, "an element type");
    const auto count = static_cast<size_t>(checked(shape, type));
    if (type == DataType::string) return strings(shape, count, b.strings());
    const size_t bytes = bytes_for(type, count);
    if (bytes != (b.data() ? b.data()->size() : 0))
      malformed(std::to_string(bytes) + " bytes", "another number");
    Tensor t(type, shape);
    if (bytes > 0) std::copy_n(b.data()->data(), bytes, static_cast<uint8_t*>(t.data()));
    return t;
  }
  static Tensor strings(const Shape& shape, size_t count,
                        const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
    if (count != (from ? from->size() : 0)) malformed(std::to_string(count) + " strings", "another number");
    Tensor t(DataType::string, shape);
    for (size_t i = 0; i < count; ++i)
      t.as<std::string>()[i] = text((*from)[static_cast<flatbuffers::uoffset_t>(i)]);
    return t;
  }
  static Shape dims(const flatbuffers::Vector<int64_t>* d) {
    return d ? Shape(d->begin(), d->end()) : Shape();
  }
  static int64_t checked(const Shape& shape, DataType type) {
    if (type == DataType::undefined) malformed("an element type", "undefined");
    return checked_count(shape, type, "a stored array");
  }

  std::string_view arrays_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

Plan read_structure(std::string_view structure, std::string_view arrays,
                    const std::shared_ptr<const void>& owner) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(structure.data()), structure.size(), 64,
                                 UINT32_MAX);
  if (!format::VerifyPlanBuffer(verifier)) malformed("a well-formed structure", "a damaged one");
  return Reader(arrays, owner).run(*format::GetPlan(structure.data()));
}

}  // namespace lathe
