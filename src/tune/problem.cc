#include "tune/problem.h"

#include <algorithm>
#include <sstream>

#include "tensor/element.h"

namespace lathe {
namespace {

constexpr uint64_t max_bytes = uint64_t{1} << 30;  // of all inputs that are made up
constexpr size_t longest_text = 2000;
/// Integers that kernels may decide by: axes, pads, shapes.
constexpr int64_t max_contents = 16;

/// Types of which any value is as good as another.
bool can_be_made_up(DataType t) {
  switch (t) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float32:
    case DataType::float64:
    case DataType::int8:
    case DataType::uint8:
    case DataType::boolean:
      return true;
    default:
      return false;
  }
}

std::optional<Shape> sized(const std::optional<SymShape>& shape, const TuneSizes& sizes) {
  if (!shape) return std::nullopt;
  Shape made;
  for (const Dim& d : *shape) {
    const auto n = d.evaluate(sizes);
    if (!n || *n < 0) return std::nullopt;
    made.push_back(*n);
  }
  return made;
}

/// Bytes, or nothing where they cannot be counted.
std::optional<uint64_t> bytes_of(DataType type, const Shape& shape) {
  try {
    return bytes_for(type, static_cast<size_t>(checked_count(shape, type, "a problem")));
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <class List>
void write_list(std::ostream& out, const List& list) {
  out << '[';
  for (size_t i = 0; i < list.size(); ++i) out << (i ? "," : "") << list[i];
  out << ']';
}

void write(std::ostream& out, const AttributeValue& v) {
  std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float>)
          out << x;
        else if constexpr (std::is_same_v<T, std::string>)
          out << '"' << x << '"';
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>> ||
                           std::is_same_v<T, std::vector<std::string>>)
          write_list(out, x);
      },
      v);
}

bool can_be_written(const AttributeValue& v) {
  return !std::holds_alternative<Tensor>(v) && !std::holds_alternative<std::vector<Tensor>>(v);
}

void write(std::ostream& out, const Problem::Operand& o) {
  if (!o.present) {
    out << '-';
    return;
  }
  if (o.constant) out << "const ";
  out << name_of(o.type);
  if (o.shape) write_list(out, *o.shape);
  if (!o.constant || !is_integer(o.type) || o.constant->size() > max_contents) return;
  out << " =";
  for (int64_t i = 0; i < o.constant->size(); ++i) out << ' ' << load_int(*o.constant, i);
}

}  // namespace

std::string Problem::text() const {
  std::ostringstream out;
  out.precision(9);
  out << domain << (domain.empty() ? "" : ".") << op << '(';
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i) out << ", ";
    write(out, inputs[i]);
  }
  out << ") -> ";
  for (size_t i = 0; i < outputs.size(); ++i)
    out << (i ? ", " : "") << (outputs[i].present ? name_of(outputs[i].type) : "-");
  std::vector<const Attributes::Entry*> sorted;
  for (const Attributes::Entry& e : attributes) sorted.push_back(&e);
  std::ranges::sort(sorted, {}, [](const auto* e) -> const std::string& { return e->name; });
  out << " {";
  for (size_t i = 0; i < sorted.size(); ++i) {
    out << (i ? ", " : "") << sorted[i]->name << ": ";
    write(out, sorted[i]->value);
  }
  out << "} for " << name_of(isa) << (streamed ? ", constants from memory" : "");
  return out.str();
}

std::optional<Problem> problem_of(std::string_view domain, std::string_view op, const Attributes& attributes,
                                  const KernelQuery& query, const TuneSizes& sizes, bool streamed) {
  Problem p;
  p.op = op;
  p.domain = domain;
  p.attributes = attributes;
  p.isa = query.isa;
  uint64_t bytes = 0;
  for (const KernelQuery::Operand& from : query.inputs) {
    Problem::Operand o{from.present, from.type, sized(from.shape, sizes), from.constant};
    if (o.constant) o.shape = o.constant->shape();
    if (o.present) {
      if (!o.shape || bits_of(o.type) < 8 || !(o.constant || can_be_made_up(o.type))) return std::nullopt;
      const auto own = bytes_of(o.type, *o.shape);
      if (!own || (!o.constant && (bytes += *own) > max_bytes)) return std::nullopt;
    }
    p.inputs.push_back(std::move(o));
  }
  for (const KernelQuery::Operand& from : query.outputs) {
    if (from.present && bits_of(from.type) < 8) return std::nullopt;
    p.outputs.push_back({from.present, from.type, sized(from.shape, sizes), nullptr});
  }
  const bool plain = std::ranges::all_of(attributes, [](const auto& e) { return can_be_written(e.value); });
  // Only constants are streamed from memory.
  p.streamed = streamed && std::ranges::any_of(p.inputs, [](const auto& o) { return o.constant != nullptr; });
  if (!plain) return std::nullopt;
  const std::string text = p.text();
  const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable || text.size() > longest_text) return std::nullopt;
  return p;
}

}  // namespace lathe
