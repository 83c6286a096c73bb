// Converts TensorProto and similar messages to values, checking every claim; and back.
#include "onnx/tensor_data.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/external.h"
#include "tensor/alignment.h"
#include "tensor/element.h"
#include "tensor/sparse.h"

namespace lathe::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data is little-endian and is viewed in place");

[[noreturn]] void refuse(const std::optional<std::string>& name, Code code, std::string expected,
                         std::string got, std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = "check";
  d.node = "tensor " + name.value_or("");
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  throw Error(std::move(d));
}

DataType type_of_number(const std::optional<std::string>& name, int32_t number) {
  if (number <= 0 || number >= data_type_count)
    refuse(name, Code::tensor_bad_type, "an element type in 1…" + std::to_string(data_type_count - 1),
           std::to_string(number), "the file is damaged, or newer than this library");
  return static_cast<DataType>(number);
}

/// Calls f(begin, end) for pieces of [0, n), checking `control` in between.
template <class F>
void each_piece(size_t n, RunControl* control, F&& f) {
  constexpr size_t piece = 65536;
  for (size_t i = 0; i < n; i += piece) {
    if (control) control->check();
    f(i, std::min(n, i + piece));
  }
}

bool six_bits(DataType t) { return t == DataType::float6e2m3 || t == DataType::float6e3m2; }

/// Returns the bytes of raw_data: six-bit floats are packed there, four in three bytes.
uint64_t raw_size(DataType t, int64_t count) {
  if (six_bits(t)) return (static_cast<uint64_t>(count) * 6 + 7) / 8;
  return bytes_for(t, static_cast<size_t>(count));
}

Tensor unpack_six_bits(std::string_view raw, DataType t, Shape shape, RunControl* control) {
  Tensor out(t, std::move(shape));
  auto* to = static_cast<uint8_t*>(out.data());
  each_piece(static_cast<size_t>(out.size()), control, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t bit = i * 6, byte = bit / 8;
      unsigned v = static_cast<unsigned char>(raw[byte]);
      if (byte + 1 < raw.size()) v |= static_cast<unsigned>(static_cast<unsigned char>(raw[byte + 1])) << 8;
      to[i] = static_cast<uint8_t>(v >> bit % 8 & 63);
    }
  });
  return out;
}

std::string pack_six_bits(const Tensor& t) {
  std::string raw(raw_size(t.type(), t.size()), '\0');
  const auto* codes = static_cast<const uint8_t*>(t.data());
  for (int64_t i = 0; i < t.size(); ++i) {
    const size_t bit = static_cast<size_t>(i) * 6, byte = bit / 8;
    const unsigned v = static_cast<unsigned>(codes[i] & 63) << bit % 8;
    raw[byte] = static_cast<char>(raw[byte] | (v & 255));
    if (v > 255) raw[byte + 1] = static_cast<char>(v >> 8);
  }
  return raw;
}

/// A bool that is neither 0 nor 1 must not be read as one.
bool bytes_are_bools(std::string_view raw, RunControl* control) {
  bool all = true;
  each_piece(raw.size(), control, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) all &= (raw[i] & ~1) == 0;
  });
  return all;
}

void check_raw_size(const TensorProto& p, const Bytes& raw, DataType t, int64_t count) {
  if (raw.size() != raw_size(t, count))
    refuse(p.name, Code::tensor_bad_data,
           std::to_string(raw_size(t, count)) + " bytes of data for " + std::string(name_of(t)) +
               describe(Shape(p.dims.begin(), p.dims.end())),
           std::to_string(raw.size()), "dims, data_type and data must agree");
}

/// Copies of at least so many bytes are worth avoiding.
constexpr size_t large = 65536;

Tensor from_raw(const TensorProto& p, const Bytes& raw, DataType t, Shape shape, int64_t count,
                RunControl* control, bool any_alignment) {
  check_raw_size(p, raw, t, count);
  if (six_bits(t)) return unpack_six_bits(raw.view(), t, std::move(shape), control);
  const bool as_it_is = t != DataType::boolean || bytes_are_bools(raw.view(), control);
  const bool fits = is_aligned(t, raw.data()) || (any_alignment && raw.size() >= large);
  if (as_it_is && raw.owner() && fits)
    return Tensor::view(t, std::move(shape), const_cast<char*>(raw.data()),
                        std::const_pointer_cast<void>(raw.owner()));
  Tensor out(t, std::move(shape));
  auto* to = static_cast<char*>(out.data());
  each_piece(raw.size(), control, [&](size_t begin, size_t end) {
    if (as_it_is)
      std::copy(raw.data() + begin, raw.data() + end, to + begin);
    else
      std::transform(raw.data() + begin, raw.data() + end, to + begin, [](char c) -> char { return c != 0; });
  });
  return out;
}

/// Checks that the typed field of the type has the right number of entries.
template <class T>
void need_entries(const TensorProto& p, const std::vector<T>& list, std::string_view field, int64_t n) {
  if (static_cast<int64_t>(list.size()) != n)
    refuse(p.name, Code::tensor_bad_data, std::to_string(n) + " entries in " + std::string(field),
           std::to_string(list.size()), "dims, data_type and data must agree");
}

/// Entries of int32_data are bits or values of the type; exporters do not agree on the sign, so both are
/// accepted.
void check_width(const TensorProto& p, DataType t, int bits, RunControl* control) {
  if (t == DataType::boolean || bits == 32) return;
  const int64_t low = six_bits(t) ? 0 : -(int64_t{1} << (bits - 1)), high = (int64_t{1} << bits) - 1;
  each_piece(p.int32_data.size(), control, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      if (const int32_t v = p.int32_data[i]; v < low || v > high)
        refuse(p.name, Code::tensor_bad_data, "entries of int32_data that fit " + std::string(name_of(t)),
               std::to_string(v), "dims, data_type and data must agree");
  });
}

Tensor from_int32(const TensorProto& p, DataType t, Shape shape, int64_t count, RunControl* control) {
  const auto entries = is_packed(t) ? static_cast<int64_t>(bytes_for(t, static_cast<size_t>(count))) : count;
  need_entries(p, p.int32_data, "int32_data", entries);
  check_width(p, t, is_packed(t) ? 8 : six_bits(t) ? 6 : bits_of(t), control);
  Tensor out(t, std::move(shape));
  each_piece(static_cast<size_t>(entries), control, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int32_t v = p.int32_data[i];
      switch (bits_of(t)) {
        case 16:
          static_cast<uint16_t*>(out.data())[i] = static_cast<uint16_t>(v);
          break;
        case 32:
          static_cast<int32_t*>(out.data())[i] = v;
          break;
        default:
          static_cast<uint8_t*>(out.data())[i] = static_cast<uint8_t>(t == DataType::boolean ? v != 0 : v);
      }
    }
  });
  return out;
}

template <class To, class From>
Tensor convert(const TensorProto& p, const std::vector<From>& list, std::string_view field, DataType t,
               Shape shape, int64_t entries, RunControl* control) {
  need_entries(p, list, field, entries);
  Tensor out(t, std::move(shape));
  auto* to = static_cast<To*>(out.data());
  each_piece(list.size(), control, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      to[i] = static_cast<To>(list[i]);
      if constexpr (sizeof(To) < sizeof(From))
        if (to[i] != list[i])
          refuse(p.name, Code::tensor_bad_data,
                 "entries of " + std::string(field) + " that fit " + std::string(name_of(t)),
                 std::to_string(list[i]), "dims, data_type and data must agree");
    }
  });
  return out;
}

Tensor from_typed(const TensorProto& p, DataType t, Shape shape, int64_t count, RunControl* control) {
  switch (t) {
    case DataType::float32:
      return convert<float>(p, p.float_data, "float_data", t, std::move(shape), count, control);
    case DataType::complex64:
      return convert<float>(p, p.float_data, "float_data", t, std::move(shape), 2 * count, control);
    case DataType::float64:
      return convert<double>(p, p.double_data, "double_data", t, std::move(shape), count, control);
    case DataType::complex128:
      return convert<double>(p, p.double_data, "double_data", t, std::move(shape), 2 * count, control);
    case DataType::int64:
      return convert<int64_t>(p, p.int64_data, "int64_data", t, std::move(shape), count, control);
    case DataType::uint64:
      return convert<uint64_t>(p, p.uint64_data, "uint64_data", t, std::move(shape), count, control);
    case DataType::uint32:
      return convert<uint32_t>(p, p.uint64_data, "uint64_data", t, std::move(shape), count, control);
    case DataType::string: {
      need_entries(p, p.string_data, "string_data", count);
      Tensor out(t, std::move(shape));
      each_piece(p.string_data.size(), control, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) out.as<std::string>()[i] = p.string_data[i].view();
      });
      return out;
    }
    default:
      return from_int32(p, t, std::move(shape), count, control);
  }
}

}  // namespace

Tensor to_tensor(const TensorProto& p, const Model* where) { return to_tensor(p, where, nullptr); }

Tensor to_tensor(const TensorProto& p, const Model* where, RunControl* control, bool any_alignment) {
  const DataType t = type_of_number(p.name, p.data_type.value_or(0));
  if (p.segment)
    refuse(p.name, Code::tensor_bad_data, "a whole tensor", "a segment of one",
           "store the tensor in one piece");
  const int64_t count = checked_count(p.dims, t, "tensor " + p.name.value_or(""));
  Shape shape(p.dims.begin(), p.dims.end());
  const int typed = !p.float_data.empty() + !p.int32_data.empty() + !p.string_data.empty() +
                    !p.int64_data.empty() + !p.double_data.empty() + !p.uint64_data.empty();
  const bool raw = p.raw_data && !p.raw_data->empty();
  if (typed + raw + p.is_external() > 1)
    refuse(p.name, Code::tensor_bad_data, "one of raw_data, typed data and external data", "more than one",
           "keep one of them");
  if (t == DataType::string && (raw || p.is_external()))
    refuse(p.name, Code::tensor_bad_data, "strings in string_data", raw ? "raw_data" : "external data",
           "store string tensors in string_data");
  if (p.is_external())
    return from_raw(p, open_external(p, where, raw_size(t, count)), t, std::move(shape), count, control,
                    any_alignment);
  if (p.raw_data && !typed && t != DataType::string)
    return from_raw(p, *p.raw_data, t, std::move(shape), count, control, any_alignment);
  if (typed && count == 0)
    refuse(p.name, Code::tensor_bad_data, "no data for " + describe(shape), "some",
           "dims, data_type and data must agree");
  return from_typed(p, t, std::move(shape), count, control);
}

void check_external(const TensorProto& p, const Model& where) {
  const DataType t = type_of_number(p.name, p.data_type.value_or(0));
  open_external(p, &where, raw_size(t, checked_count(p.dims, t, "tensor " + p.name.value_or(""))));
}

std::optional<Bytes> raw_bytes(const TensorProto& p, const Model& where) {
  const DataType t = type_of_number(p.name, p.data_type.value_or(0));
  if (t == DataType::string) return std::nullopt;
  const int64_t count = checked_count(p.dims, t, "tensor " + p.name.value_or(""));
  if (p.is_external()) return open_external(p, &where, raw_size(t, count));
  if (p.raw_data && !p.raw_data->empty()) {
    check_raw_size(p, *p.raw_data, t, count);
    return p.raw_data;
  }
  const Tensor tensor = to_tensor(p, &where);
  if (six_bits(t)) return Bytes(pack_six_bits(tensor));
  return Bytes(std::string_view(static_cast<const char*>(tensor.data()), tensor.bytes()), tensor.owner());
}

TensorProto from_tensor(const Tensor& t, std::string name) {
  TensorProto p;
  p.dims.assign(t.shape().begin(), t.shape().end());
  p.data_type = static_cast<int32_t>(t.type());
  if (!name.empty()) p.name = std::move(name);
  if (t.type() == DataType::string) {
    for (const std::string& s : t.as<std::string>()) p.string_data.emplace_back(s);
  } else if (six_bits(t.type())) {
    p.raw_data = Bytes(pack_six_bits(t));
  } else {
    const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
    p.raw_data = t.owner() ? Bytes(bytes, t.owner()) : Bytes(std::string(bytes));
  }
  return p;
}

SparseTensor to_sparse(const SparseTensorProto& p, const Model* where) {
  const std::optional<std::string> name = p.values ? p.values->name : std::nullopt;
  if (!p.values || !p.indices)
    refuse(name, Code::sparse_bad_indices, "values and indices", "one of them missing", "store both");
  SparseTensor s{to_tensor(*p.values, where), to_tensor(*p.indices, where),
                 Shape(p.dims.begin(), p.dims.end())};
  if (auto fault = sparse_fault(s))
    refuse(name, Code::sparse_bad_indices, std::move(fault->expected), std::move(fault->got),
           "indices are sorted, unique, and within dims");
  return s;
}

Tensor to_dense(const SparseTensorProto& p, const Model* where) {
  // A few bytes may claim terabytes, so the dense copy is bounded.
  constexpr int64_t most = int64_t{1} << 31;
  const SparseTensor s = to_sparse(p, where);
  const int64_t total = count_of(s.shape);
  if (total * std::max(bits_of(s.values.type()), 8) / 8 > most)
    refuse(p.values->name, Code::run_too_large, "a sparse tensor of at most 2 GiB when dense",
           describe(s.shape), "keep it sparse");
  Tensor dense(s.values.type(), s.shape);
  if (dense.type() != DataType::string && dense.bytes()) std::memset(dense.data(), 0, dense.bytes());
  const bool linear = s.indices.rank() == 1;
  const size_t rank = s.shape.size(), size = static_cast<size_t>(bits_of(dense.type())) / 8;
  for (int64_t i = 0; i < s.values.size(); ++i) {
    int64_t at = linear ? s.indices.as<int64_t>()[static_cast<size_t>(i)] : 0;
    if (!linear)
      for (size_t k = 0; k < rank; ++k)
        at = at * s.shape[k] + s.indices.as<int64_t>()[static_cast<size_t>(i) * rank + k];
    if (dense.type() == DataType::string)
      dense.as<std::string>()[static_cast<size_t>(at)] = s.values.as<std::string>()[static_cast<size_t>(i)];
    else if (size == 0)
      store_double(dense, at, load_double(s.values, i));
    else
      std::memcpy(static_cast<char*>(dense.data()) + static_cast<size_t>(at) * size,
                  static_cast<const char*>(s.values.data()) + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

Value to_value(const SequenceProto& p) {
  Sequence s;
  for (const TensorProto& t : p.tensor_values) s.items->push_back(to_tensor(t).owned());
  for (const SparseTensorProto& t : p.sparse_tensor_values) s.items->push_back(to_sparse(t));
  for (const SequenceProto& t : p.sequence_values) s.items->push_back(to_value(t));
  for (const MapProto& t : p.map_values) s.items->push_back(to_value(t));
  for (const OptionalProto& t : p.optional_values) s.items->push_back(to_value(t));
  if (!s.items->empty() && s.items->front().is_tensor()) s.elem = s.items->front().tensor().type();
  return s;
}

Value to_value(const OptionalProto& p) {
  if (p.tensor_value) return to_tensor(*p.tensor_value).owned();
  if (p.sparse_tensor_value) return to_sparse(*p.sparse_tensor_value);
  if (p.sequence_value) return to_value(*p.sequence_value);
  if (p.map_value) return to_value(*p.map_value);
  if (p.optional_value) return to_value(*p.optional_value);
  return {};
}

Value to_value(const MapProto& p) {
  Map m;
  if (!p.keys.empty() && !p.string_keys.empty())
    refuse(p.name, Code::tensor_bad_data, "keys or string_keys", "both", "the map is damaged");
  if (!p.string_keys.empty() || p.key_type == static_cast<int32_t>(DataType::string)) {
    m.keys = Tensor(DataType::string, {static_cast<int64_t>(p.string_keys.size())});
    for (size_t i = 0; i < p.string_keys.size(); ++i) m.keys.as<std::string>()[i] = p.string_keys[i].view();
  } else {
    m.keys = Tensor::from<int64_t>({static_cast<int64_t>(p.keys.size())}, p.keys);
  }
  if (p.values) m.values = to_value(*p.values).sequence();
  if (static_cast<int64_t>(m.values.items->size()) != m.keys.size())
    refuse(p.name, Code::tensor_bad_data, "as many values as keys", std::to_string(m.values.items->size()),
           "the map is damaged");
  return m;
}

}  // namespace lathe::onnx
