// The public interface of the registry of operators.
#include "lathe/operators.h"

#include <algorithm>

#include "base/glob.h"
#include "gradient/gradient.h"
#include "kernel/kernel.h"
#include "kernel/select.h"
#include "schema/schema.h"

namespace lathe {
namespace {

OperatorInfo::VersionInfo version_info(const Version& v) {
  OperatorInfo::VersionInfo info{
      .since = v.since, .signature = std::string(v.text), .deprecated = v.deprecated};
  if (v.deprecated) return info;
  for (const TypeVariable& t : v.signature().variables) info.types.emplace_back(t.name, t.types);
  return info;
}

/// Would a kernel other than the reference take a node with these types and shapes? Attributes that must be
/// given are lists of ones, or the type's own number.
bool is_fast(const OpSchema& s, DataType type, std::span<const SymShape> shapes) {
  const Signature& signature = s.newest().signature();
  const std::string name(onnx_name_of(type));
  const auto type_of_parameter = [&](const Parameter& p) {
    const TypeVariable* v = signature.variable(p.type);
    if (!v) return data_type_from(p.type).value_or(DataType::undefined);
    const bool has_it = std::ranges::find(v->types, name) != v->types.end();
    return has_it ? type : data_type_from(v->types[0]).value_or(DataType::undefined);
  };
  Attributes attributes;
  for (const AttributeDecl& a : signature.attributes) {
    if (!a.required) continue;
    if (a.kind == "ints") attributes.set(a.name, std::vector<int64_t>{1, 1});
    if (a.kind == "int")
      attributes.set(a.name, a.name == "to" ? static_cast<int64_t>(DataType::float32) : int64_t{1});
  }
  std::vector<KernelQuery::Operand> inputs, outputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (i >= signature.min_inputs) break;
    inputs.push_back({.present = true,
                      .type = type_of_parameter(signature.inputs[i]),
                      .shape = shapes[std::min(i, shapes.size() - 1)]});
  }
  for (size_t i = 0; i < std::max<size_t>(signature.min_outputs, 1) && i < signature.outputs.size(); ++i)
    outputs.push_back({.present = true, .type = type_of_parameter(signature.outputs[i]), .shape = shapes[0]});
  const KernelQuery query{.inputs = inputs, .outputs = outputs, .isa = Isa::avx512};
  const KernelCatalog& kernels = KernelCatalog::standard();
  const OpCodec* codec = kernels.codec_of(s.domain(), s.name());
  return codec && std::ranges::any_of(kernels.candidates(s.domain(), s.name()), [&](const Kernel* k) {
           if (k->backend == "reference") return false;
           try {
             const auto op = decode_for(*k, *codec, attributes);
             return !k->supports || k->supports(op.get(), query).accepted;
           } catch (const Error&) {
             return false;  // not a form of this operator
           }
         });
}

/// Shapes of inputs that operators of most families accept.
const std::vector<std::vector<SymShape>>& ordinary_shapes() {
  const auto of_rank = [](size_t rank) { return SymShape(rank, Dim(16)); };
  static const std::vector<std::vector<SymShape>> all{{of_rank(4)},
                                                      {of_rank(2)},
                                                      {of_rank(3)},
                                                      {of_rank(1)},
                                                      {of_rank(4), of_rank(1)},
                                                      {of_rank(2), of_rank(1)},
                                                      {of_rank(4), of_rank(0)}};
  return all;
}

std::vector<std::string> fast_types(const OpSchema& s) {
  std::vector<std::string> fast;
  const Signature& signature = s.newest().signature();
  if (s.newest().deprecated || signature.variables.empty()) return fast;
  for (const std::string& name : signature.variables[0].types) {
    const auto type = data_type_from(name);
    if (type &&
        std::ranges::any_of(ordinary_shapes(), [&](const auto& shapes) { return is_fast(s, *type, shapes); }))
      fast.push_back(name);
  }
  return fast;
}

std::vector<OperatorInfo::KernelInfo> kernels_of(std::string_view domain, std::string_view op) {
  std::vector<OperatorInfo::KernelInfo> found;
  for (const Kernel* k : KernelCatalog::standard().candidates(domain, op))
    found.push_back({k->name, k->backend, std::string(name_of(k->isa))});
  return found;
}

std::vector<OperatorInfo::InternalForm> internal_forms_of(const OpSchema& s) {
  const KernelCatalog& kernels = KernelCatalog::standard();
  std::vector<OperatorInfo::InternalForm> found;
  for (const std::string& form : kernels.internal_forms_of(s.domain(), s.name()))
    found.push_back(
        {form, std::string(kernels.candidates("lathe", form).at(0)->folder), kernels_of("lathe", form)});
  return found;
}

OperatorInfo operator_info(const OpSchema& s) {
  OperatorInfo info{.domain = s.domain(), .name = s.name()};
  for (const Version& v : s.versions()) info.versions.push_back(version_info(v));
  info.kernels = kernels_of(s.domain(), s.name());
  info.folder = s.folder();
  info.internal_forms = internal_forms_of(s);
  info.component = KernelCatalog::standard().component_of(s.domain(), s.name());
  info.fast = fast_types(s);
  static const std::vector<std::string> differentiable = differentiable_operators();
  info.differentiable = s.domain().empty() && std::ranges::binary_search(differentiable, s.name());
  return info;
}

}  // namespace

std::vector<OperatorInfo> operators(std::string_view pattern) {
  std::vector<OperatorInfo> found;
  for (const auto& [key, schema] : SchemaCatalog::standard().all())
    if (glob_match(pattern, schema.name())) found.push_back(operator_info(schema));
  return found;
}

}  // namespace lathe
