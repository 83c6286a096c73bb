// NumPy's .npy: a magic, a header that is a Python literal, and the elements.
#include "io/npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "io/file.h"
#include "lathe/error.h"
#include "lathe/io.h"
#include "tensor/element.h"

namespace lathe {

bool is_missing_in_numpy(DataType t) {
  switch (t) {
    case DataType::undefined:
    case DataType::string:
    case DataType::float16:
    case DataType::float32:
    case DataType::float64:
    case DataType::boolean:
    case DataType::complex64:
    case DataType::complex128:
      return false;
    default:
      return !is_integer(t) || bits_of(t) < 8;
  }
}

namespace {

[[noreturn]] void malformed_npy(std::string expected, std::string got) {
  throw Error(Code::npy_malformed, "read .npy", std::move(expected), std::move(got),
              "write the file with numpy.save");
}

struct NpyHeader {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// The value after 'key': in the header's dictionary, up to the comma or brace that ends it.
std::string_view field(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos)
    malformed_npy("a header with '" + std::string(key) + "'", std::string(header.substr(0, 80)));
  size_t from = header.find(':', at);
  if (from == std::string_view::npos) malformed_npy("a colon after '" + std::string(key) + "'", "none");
  from = header.find_first_not_of(' ', from + 1);
  return from == std::string_view::npos ? std::string_view() : header.substr(from);
}

NpyHeader parse_header(std::string_view text) {
  NpyHeader h;
  std::string_view descr = field(text, "descr");
  if (descr.empty() || descr[0] != '\'') malformed_npy("a plain element type", "a structured one");
  const size_t quote = descr.find('\'', 1);
  if (quote == std::string_view::npos) malformed_npy("a closing quote", "none");
  h.descr = descr.substr(1, quote - 1);
  h.fortran = field(text, "fortran_order").starts_with("True");
  std::string_view shape = field(text, "shape");
  const size_t close = shape.find(')');
  if (shape.empty() || shape[0] != '(' || close == std::string_view::npos)
    malformed_npy("a shape in parentheses", "none");
  std::stringstream in{std::string(shape.substr(1, close - 1))};
  for (std::string item; std::getline(in, item, ',');) {
    if (item.find_first_not_of(' ') == std::string::npos) continue;
    char* end = nullptr;
    h.shape.push_back(std::strtoll(item.c_str(), &end, 10));
    if (end == item.c_str()) malformed_npy("numbers in the shape", item);
  }
  return h;
}

struct NpyType {
  DataType type;
  size_t bytes;             // of one element in the file
  bool bits_alone = false;  // of a type that NumPy does not know
};

/// ml_dtypes' arrays of types that NumPy lacks are saved as bytes without a meaning, one or two an element.
bool are_bits_of(DataType wanted, std::string_view name) {
  const bool sixteen = wanted == DataType::bfloat16;
  return is_missing_in_numpy(wanted) && (name == (sixteen ? "V2" : "V1") || (!sixteen && name == "f1"));
}

NpyType type_named(std::string_view descr, DataType wanted) {
  static constexpr std::pair<std::string_view, DataType> known[] = {
      {"f2", DataType::float16},   {"f4", DataType::float32},    {"f8", DataType::float64},
      {"i1", DataType::int8},      {"i2", DataType::int16},      {"i4", DataType::int32},
      {"i8", DataType::int64},     {"u1", DataType::uint8},      {"u2", DataType::uint16},
      {"u4", DataType::uint32},    {"u8", DataType::uint64},     {"b1", DataType::boolean},
      {"c8", DataType::complex64}, {"c16", DataType::complex128}};
  if (descr.size() < 2) malformed_npy("an element type", std::string(descr));
  const std::string_view name = descr.substr(1);
  if (are_bits_of(wanted, name))
    return name == "V2" ? NpyType{DataType::uint16, 2, true} : NpyType{DataType::uint8, 1, true};
  for (const auto& [n, t] : known)
    if (n == name) return {t, static_cast<size_t>(bits_of(t)) / 8};
  if (name[0] == 'U' || name[0] == 'S') {
    const size_t length = std::strtoull(std::string(name.substr(1)).c_str(), nullptr, 10);
    if (length > (size_t{1} << 28)) malformed_npy("strings of a sane length", std::string(descr));
    return {DataType::string, length * (name[0] == 'U' ? 4 : 1)};
  }
  malformed_npy("a numeric or string element type", std::string(descr));
}

void append_utf8(std::string& s, uint32_t c) {
  if (c < 0x80)
    s += static_cast<char>(c);
  else if (c < 0x800)
    s += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  else if (c < 0x10000)
    s += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
          static_cast<char>(0x80 | (c & 63))};
  else
    s += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
          static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
}

std::string string_at(const char* p, size_t bytes, bool unicode, bool swap) {
  std::string s;
  if (!unicode) {
    s.assign(p, bytes);
    s.erase(std::find_if(s.rbegin(), s.rend(), [](char c) { return c != '\0'; }).base(), s.end());
    return s;
  }
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t c;
    std::memcpy(&c, p + i, 4);
    if (swap) c = __builtin_bswap32(c);
    if (c == 0) break;
    append_utf8(s, std::min(c, 0x10ffffu));
  }
  return s;
}

/// Position in C order of the k-th element in Fortran order.
int64_t from_fortran(int64_t k, const Shape& shape) {
  int64_t at = 0, stride = count_of(shape);
  InlineVector<int64_t, 8> strides;
  for (int64_t d : shape) strides.push_back(stride = d ? stride / d : 0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    at += k % shape[axis] * strides[axis];
    k /= shape[axis];
  }
  return at;
}

struct Read {
  NpyHeader header;
  NpyType type;
  size_t start;
  int64_t count;
};

/// Reads everything but the elements. `size`: bytes of the whole file.
Read read_header(std::string_view bytes, uint64_t size, DataType wanted = DataType::undefined) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6))
    malformed_npy("the magic of a .npy file", "something else");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool wide = byte(6) >= 2;
  if (byte(6) < 1 || byte(6) > 3 || (wide && bytes.size() < 12))
    malformed_npy("version 1, 2 or 3", std::to_string(byte(6)));
  const size_t start = wide ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > bytes.size() - start)
    malformed_npy("a header of " + std::to_string(length) + " bytes", "a shorter file");
  NpyHeader h = parse_header(bytes.substr(start, length));
  const NpyType t = type_named(h.descr, wanted);
  const uint64_t data = size - start - length;
  const int64_t count = checked_count(h.shape, t.type, "array");
  if (t.bytes && static_cast<uint64_t>(count) > data / t.bytes)
    malformed_npy(std::to_string(count) + " elements of " + std::to_string(t.bytes) + " bytes",
                  std::to_string(data) + " bytes");
  if (!t.bytes && count > (int64_t{1} << 24))
    malformed_npy("a sane number of empty strings", std::to_string(count));
  return {std::move(h), t, start + length, count};
}

}  // namespace

NpyLayout read_npy_layout(std::string_view beginning, uint64_t size) {
  const Read r = read_header(beginning, size);
  const bool swapped = r.header.descr[0] == '>' && r.type.bytes > 1;
  return {r.type.type, Shape(r.header.shape.begin(), r.header.shape.end()), r.start, r.type.bytes,
          !r.header.fortran && !swapped && r.type.type != DataType::string};
}

namespace {

Tensor elements_of(const Read& read, std::string_view bytes) {
  const auto& [h, t, start, count] = read;
  const std::string_view data = bytes.substr(start);
  Tensor out(t.type, Shape(h.shape.begin(), h.shape.end()));
  const bool swap = h.descr[0] == '>';
  auto place = [&](int64_t k) { return static_cast<size_t>(h.fortran ? from_fortran(k, out.shape()) : k); };
  if (t.type == DataType::string) {
    const bool unicode = h.descr[1] == 'U';
    for (int64_t k = 0; k < count; ++k)
      out.as<std::string>()[place(k)] =
          string_at(data.data() + static_cast<size_t>(k) * t.bytes, t.bytes, unicode, swap);
    return out;
  }
  auto* to = static_cast<char*>(out.data());
  if (!swap && !h.fortran) {
    if (count) std::memcpy(to, data.data(), static_cast<size_t>(count) * t.bytes);
    return out;
  }
  const size_t part =
      is_complex(t.type) ? t.bytes / 2 : t.bytes;  // each half of a complex number has its own byte order
  for (int64_t k = 0; k < count; ++k) {
    char* at = to + place(k) * t.bytes;
    std::memcpy(at, data.data() + static_cast<size_t>(k) * t.bytes, t.bytes);
    if (swap)
      for (size_t p = 0; p < t.bytes; p += part) std::reverse(at + p, at + p + part);
  }
  return out;
}

/// The elements whose bits these are, the lowest of each counting.
Tensor with_bits(const Tensor& bits, DataType type) {
  Tensor t(type, bits.shape());
  if (bits_of(type) >= 8) {
    if (t.bytes()) std::memcpy(t.data(), bits.data(), t.bytes());
    return t;
  }
  // Elements that share a byte are packed like integers of so many bits.
  Tensor packed(bits_of(type) == 2 ? DataType::uint2 : DataType::uint4, bits.shape());
  const int64_t mask = (int64_t{1} << bits_of(type)) - 1;
  for (int64_t i = 0; i < bits.size(); ++i) store_int(packed, i, load_int(bits, i) & mask);
  if (t.bytes()) std::memcpy(t.data(), packed.data(), t.bytes());
  return t;
}

/// The same numbers as elements of another type; nothing where it does not have one of them.
std::optional<Tensor> same_numbers(const Tensor& from, DataType type) {
  Tensor t(type, from.shape());
  for (int64_t i = 0; i < from.size(); ++i) {
    if (is_float(type)) {
      const double x = load_double(from, i);
      store_double(t, i, x);
      const double stored = load_double(t, i);
      if (!(stored == x || (std::isnan(stored) && std::isnan(x)))) return std::nullopt;
    } else {
      const int64_t x = load_int(from, i);
      store_int(t, i, x);
      if (load_int(t, i) != x) return std::nullopt;
    }
  }
  return t;
}

/// The type that save_npy writes in place of one that NumPy does not have.
DataType written_as(DataType t) {
  return is_float(t) ? DataType::float32 : is_unsigned_integer(t) ? DataType::uint8 : DataType::int8;
}

}  // namespace

Tensor parse_npy(std::string_view bytes, DataType wanted) {
  const Read read = read_header(bytes, bytes.size(), wanted);
  Tensor t = elements_of(read, bytes);
  if (read.type.bits_alone) return with_bits(t, wanted);
  if (is_missing_in_numpy(wanted) && t.type() == written_as(wanted))
    if (auto same = same_numbers(t, wanted)) return *std::move(same);
  return t;
}

Tensor load_npy(const std::filesystem::path& path, DataType wanted) {
  const std::string bytes = read_file(path);
  try {
    return parse_npy(bytes, wanted);
  } catch (const Error& e) {
    throw e.at("", path.string(), "");
  }
}

void save_npy(const std::filesystem::path& path, const Tensor& t) {
  static constexpr std::pair<DataType, std::string_view> plain[] = {
      {DataType::float16, "<f2"},   {DataType::float32, "<f4"},    {DataType::float64, "<f8"},
      {DataType::int8, "|i1"},      {DataType::int16, "<i2"},      {DataType::int32, "<i4"},
      {DataType::int64, "<i8"},     {DataType::uint8, "|u1"},      {DataType::uint16, "<u2"},
      {DataType::uint32, "<u4"},    {DataType::uint64, "<u8"},     {DataType::boolean, "|b1"},
      {DataType::complex64, "<c8"}, {DataType::complex128, "<c16"}};
  Tensor data = t;
  std::string descr, strings;
  for (const auto& [type, name] : plain)
    if (type == t.type()) descr = name;
  if (t.type() == DataType::string) {
    size_t longest = 1;
    for (const std::string& s : t.as<std::string>()) longest = std::max(longest, s.size());
    descr = "|S" + std::to_string(longest);  // UTF-8 bytes: readable without decoding tables
    for (const std::string& s : t.as<std::string>()) strings += s + std::string(longest - s.size(), '\0');
  } else if (descr.empty()) {
    const bool floats = is_float(t.type());
    const DataType wider = written_as(t.type());
    data = Tensor(wider, t.shape());
    for (int64_t i = 0; i < t.size(); ++i)
      floats ? store_double(data, i, load_double(t, i)) : store_int(data, i, load_int(t, i));
    descr = floats ? "<f4" : wider == DataType::uint8 ? "|u1" : "|i1";
  }
  std::string shape;
  for (int64_t d : t.shape()) shape += std::to_string(d) + ",";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');  // elements start at a multiple of 64
  header.back() = '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const std::string_view elements =
      t.type() == DataType::string ? std::string_view(strings)
                                   : std::string_view(static_cast<const char*>(data.data()), data.bytes());
  write_file(path, {bytes, elements});
}

}  // namespace lathe
