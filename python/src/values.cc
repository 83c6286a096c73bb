// Values between Python and C++ without copies: Tensor lends and borrows memory through the buffer protocol,
// NumPy and DLPack. Sequences are lists, maps are dicts' raw material (Map), the empty optional is None.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "module.h"

namespace lathe::python {
namespace {

[[noreturn]] void refuse(std::string expected, std::string got, std::string remedy = {}) {
  throw Error(Code::run_bad_input, "python", std::move(expected), std::move(got), std::move(remedy));
}

/// DLPack's codes for our element types (dlpack.h, DLDataTypeCode). Sub-byte integers have none in common
/// use.
struct DlpackType {
  DataType type;
  uint8_t code, bits;
};
constexpr DlpackType dlpack_types[] = {
    {DataType::float32, 2, 32},
    {DataType::float64, 2, 64},
    {DataType::float16, 2, 16},
    {DataType::bfloat16, 4, 16},
    {DataType::int8, 0, 8},
    {DataType::int16, 0, 16},
    {DataType::int32, 0, 32},
    {DataType::int64, 0, 64},
    {DataType::uint8, 1, 8},
    {DataType::uint16, 1, 16},
    {DataType::uint32, 1, 32},
    {DataType::uint64, 1, 64},
    {DataType::boolean, 6, 8},
    {DataType::complex64, 5, 64},
    {DataType::complex128, 5, 128},
    {DataType::float8e4m3fn, 10, 8},
    {DataType::float8e4m3fnuz, 11, 8},
    {DataType::float8e5m2, 12, 8},
    {DataType::float8e5m2fnuz, 13, 8},
    {DataType::float8e8m0, 14, 8},
};

nb::dlpack::dtype dlpack_dtype(DataType t) {
  for (const DlpackType& d : dlpack_types)
    if (d.type == t) return {d.code, d.bits, 1};
  refuse("an element type that DLPack has", std::string(name_of(t)));
}

template <class... Form>
nb::ndarray<Form...> lend(const Tensor& t, nb::dlpack::dtype dtype, const std::vector<size_t>& shape) {
  nb::capsule owner(new Tensor(t), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return nb::ndarray<Form...>(const_cast<void*>(t.data()), shape.size(), shape.data(), owner, nullptr, dtype,
                              nb::device::cpu::value, 0);
}

/// The memory as a NumPy array of a type that NumPy has: elements as they are, narrow ones as unsigned
/// integers of their width, packed ones as a flat array of bytes.
nb::ndarray<nb::numpy> numpy_carrier(const Tensor& t) {
  if (t.type() == DataType::string) refuse("an element type of fixed width", "string");
  const int bits = bits_of(t.type());
  if (bits < 8) return lend<nb::numpy>(t, {1, 8, 1}, {t.bytes()});
  std::vector<size_t> shape(t.shape().begin(), t.shape().end());
  const bool narrow = is_float(t.type()) && (bits == 8 || t.type() == DataType::bfloat16);
  return lend<nb::numpy>(
      t, narrow ? nb::dlpack::dtype{1, static_cast<uint8_t>(bits), 1} : dlpack_dtype(t.type()), shape);
}

nb::object dlpack_capsule(const Tensor& t, const nb::kwargs& options) {
  std::vector<size_t> shape(t.shape().begin(), t.shape().end());
  const nb::object lent =
      nb::cast(lend<nb::array_api>(t, dlpack_dtype(t.type()), shape), nb::rv_policy::reference);
  return lent.attr("__dlpack__")(**options);
}

/// Borrows the memory of anything with the buffer protocol; `type` says what the bytes are.
Tensor tensor_from_buffer(nb::object o, const std::string& type, nb::handle shape, bool writable) {
  const DataType t = type_named(type);
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o.ptr(), view.get(), PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) != 0)
    throw nb::python_error();
  std::shared_ptr<void> owner(view.release(), [](void* p) {
    nb::gil_scoped_acquire gil;
    PyBuffer_Release(static_cast<Py_buffer*>(p));
    delete static_cast<Py_buffer*>(p);
  });
  const auto* b = static_cast<const Py_buffer*>(owner.get());
  const Shape s = shape_from_python(shape);
  const int64_t count = checked_count(s, t, "a tensor from a buffer");
  if (bits_of(t) == 0 || static_cast<size_t>(b->len) != bytes_for(t, static_cast<size_t>(count)))
    refuse("a buffer of " + std::to_string(bytes_for(t, static_cast<size_t>(count))) + " bytes for " + type +
               describe(s),
           std::to_string(b->len) + " bytes");
  return Tensor::view(t, s, b->buf, owner);
}

/// Borrows from anything with DLPack. What is read may be a copy, made where the array is not C-contiguous;
/// what is written into must be the array's own memory.
template <class Array>
Tensor tensor_from_array(Array a) {
  DataType type = DataType::undefined;
  for (const DlpackType& d : dlpack_types)
    if (a.dtype() == nb::dlpack::dtype{d.code, d.bits, 1}) type = d.type;
  if (type == DataType::undefined)
    refuse("an element type of ONNX", "DLPack type code " + std::to_string(a.dtype().code) + ", " +
                                          std::to_string(a.dtype().bits) + " bits");
  Shape shape;
  for (size_t i = 0; i < a.ndim(); ++i) shape.push_back(static_cast<int64_t>(a.shape(i)));
  void* data = const_cast<void*>(static_cast<const void*>(a.data()));
  std::shared_ptr<void> owner(new Array(std::move(a)), [](void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<Array*>(p);
  });
  return Tensor::view(type, shape, data, owner);
}

Tensor tensor_from_dlpack(nb::object o, bool writable) {
  using Read = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
  using Written = nb::ndarray<nb::c_contig, nb::device::cpu>;
  if (!writable) return tensor_from_array(argument<Read>(o, "an array on the CPU"));
  return tensor_from_array(argument<Written>(o, "a writable, C-contiguous array on the CPU", false));
}

Tensor tensor_from_strings(const std::vector<nb::object>& items, nb::handle shape) {
  const Shape s = shape_from_python(shape);
  if (checked_count(s, DataType::string, "a tensor of strings") != static_cast<int64_t>(items.size()))
    refuse("as many strings as " + describe(s) + " has elements", std::to_string(items.size()));
  Tensor t(DataType::string, s);
  for (size_t i = 0; i < items.size(); ++i) {
    // The string is referenced until it has been copied: one that str() makes of other objects, or of derived
    // classes like NumPy's, has no other reference.
    const nb::object item = PyBytes_Check(items[i].ptr()) ? items[i] : nb::object(nb::str(items[i]));
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_Check(item.ptr()))
      PyBytes_AsStringAndSize(item.ptr(), &data, &size);
    else
      data = const_cast<char*>(PyUnicode_AsUTF8AndSize(item.ptr(), &size));
    nb::object bytes;
    if (!data && PyUnicode_Check(item.ptr())) {  // surrogates that stand for bytes that are no UTF-8
      PyErr_Clear();
      bytes = nb::steal(PyUnicode_AsEncodedString(item.ptr(), "utf-8", "surrogateescape"));
      if (bytes.is_valid()) PyBytes_AsStringAndSize(bytes.ptr(), &data, &size);
    }
    if (!data) throw nb::python_error();
    t.as<std::string>()[i].assign(data, static_cast<size_t>(size));
  }
  return t;
}

/// Returns a list of str. Bytes that are not UTF-8 become surrogates, so that they can be converted back.
nb::list strings_of(const Tensor& t) {
  if (t.type() != DataType::string) refuse("a tensor of strings", describe(t));
  nb::list items;
  for (const std::string& s : t.as<std::string>())
    items.append(
        nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape")));
  return items;
}

}  // namespace

DataType type_named(const std::string& name) {
  const auto t = data_type_from(name);
  if (!t) throw Error(Code::bad_argument, "python", "the name of an element type", "'" + name + "'");
  return *t;
}

nb::tuple shape_to_python(const Shape& shape) {
  nb::list l;
  for (int64_t d : shape) l.append(d);
  return nb::tuple(l);
}

nb::object shape_to_python(const std::optional<SymShape>& shape) {
  if (!shape) return nb::none();
  nb::list l;
  for (const Dim& d : *shape) {
    if (d.is_constant())
      l.append(d.constant());
    else if (d.has_unknown())
      l.append(nb::none());
    else
      l.append(d.str());
  }
  return nb::tuple(l);
}

Shape shape_from_python(nb::handle h) {
  Shape s;
  for (nb::handle d : h) s.push_back(argument<int64_t>(d, "a shape of whole numbers"));
  return s;
}

NamedShapes named_shapes_from_python(const nb::dict& d) {
  NamedShapes shapes;
  for (auto [name, shape] : d)
    shapes[argument<std::string>(name, "names of values as str")] = shape_from_python(shape);
  return shapes;
}

nb::object to_python(const Value& v) {
  if (v.empty()) return nb::none();
  if (v.is_tensor()) return nb::cast(v.tensor());
  if (v.is_sparse()) return nb::cast(v.sparse());
  if (v.is_map()) return nb::cast(v.map());
  nb::list items;
  for (const Value& item : *v.sequence().items) items.append(to_python(item));
  return items;
}

Value from_python(nb::handle h, DataType elem) {
  if (h.is_none()) return {};
  if (nb::isinstance<Tensor>(h)) return nb::cast<Tensor>(h);
  if (nb::isinstance<SparseTensor>(h)) return nb::cast<SparseTensor>(h);
  if (nb::isinstance<Map>(h)) return nb::cast<Map>(h);
  if (!nb::isinstance<nb::list>(h))
    refuse("a Tensor, SparseTensor, Map, list or None", nb::cast<std::string>(nb::repr(h.type())));
  Sequence s;
  for (nb::handle item : h) s.items->push_back(from_python(item, elem));
  s.elem = elem;
  if (!s.items->empty() && s.items->front().is_tensor()) s.elem = s.items->front().tensor().type();
  return s;
}

NamedValues values_from_python(const nb::dict& d) {
  NamedValues values;
  for (auto [name, v] : d) values[argument<std::string>(name, "names of values as str")] = from_python(v);
  return values;
}

nb::dict values_to_python(const NamedValues& values) {
  nb::dict d;
  for (const auto& [name, v] : values) d[name.c_str()] = to_python(v);
  return d;
}

void bind_values(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor",
                     "A dense tensor. Copies share memory; NumPy and DLPack read it without copying. "
                     "Thread-safe while nobody writes to its memory.")
      .def_static("from_buffer", &tensor_from_buffer, nb::arg("buffer"), nb::arg("dtype"), nb::arg("shape"),
                  nb::arg("writable") = false,
                  "Makes a tensor over C-contiguous memory, without copying it; `dtype` says what its bytes "
                  "are. Raises lathe.Error E4001 (run_bad_input) for another number of bytes.")
      .def_static("from_dlpack", &tensor_from_dlpack, nb::arg("array"), nb::arg("writable") = false,
                  "Makes a tensor over the memory of an array on the CPU that has DLPack. One to be written "
                  "into must be C-contiguous; one to be read is copied where it is not.")
      .def_static("from_strings", &tensor_from_strings, nb::arg("strings"), nb::arg("shape"),
                  "Makes a tensor of strings from as many str or bytes as the shape has elements. Raises "
                  "lathe.Error E4001 (run_bad_input) for another number.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return std::string(name_of(t.type())); },
          "The element type by Lathe's name: \"float32\", \"string\".")
      .def_prop_ro(
          "onnx_type", [](const Tensor& t) { return "tensor(" + std::string(onnx_name_of(t.type())) + ")"; },
          "The type as ONNX writes it: \"tensor(float)\".")
      .def_prop_ro(
          "data_type", [](const Tensor& t) { return static_cast<int>(t.type()); },
          "The number of the element type in ONNX's TensorProto.DataType.")
      .def_prop_ro(
          "shape", [](const Tensor& t) { return shape_to_python(t.shape()); },
          "The sizes, as a tuple of int.")
      .def_prop_ro(
          "nbytes", [](const Tensor& t) { return t.bytes(); },
          "The bytes of the elements; types of less than a byte are packed.")
      .def_prop_ro(
          "data_ptr", [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()); },
          "The address of the first element.")
      .def("carrier", &numpy_carrier, nb::rv_policy::reference,
           "Returns the memory as a NumPy array; types that NumPy lacks appear as unsigned integers of their "
           "width, packed ones as a flat array of bytes.")
      .def("strings", &strings_of,
           "Returns the elements of a tensor of strings as a flat list of str. Raises lathe.Error E4001 "
           "(run_bad_input) for other types.")
      .def("clone", &Tensor::clone, "Returns a copy with memory of its own.")
      .def("__dlpack__", &dlpack_capsule)
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(nb::device::cpu::value, 0); })
      .def("__repr__", [](const Tensor& t) { return "<lathe.Tensor " + describe(t) + ">"; });

  nb::class_<SparseTensor>(
      m, "SparseTensor",
      "A sparse tensor of coordinates (int64 [NNZ, rank]) and values ([NNZ]); ONNX SparseTensorProto.")
      .def(
          "__init__",
          [](SparseTensor* s, const Tensor& values, const Tensor& indices, nb::handle shape) {
            new (s) SparseTensor{values, indices, shape_from_python(shape)};
          },
          nb::arg("values"), nb::arg("indices"), nb::arg("shape"))
      .def_ro("values", &SparseTensor::values, "The values, a tensor [NNZ].")
      .def_ro("indices", &SparseTensor::indices,
              "The coordinates of the values, an int64 tensor [NNZ, rank].")
      .def_prop_ro(
          "shape", [](const SparseTensor& s) { return shape_to_python(s.shape); },
          "The shape of the dense tensor, as a tuple of int.");

  nb::class_<Map>(m, "Map", "A map of keys (int64 or string [n]) to as many values; ONNX MapProto.")
      .def(
          "__init__",
          [](Map* map, const Tensor& keys, const nb::list& values) {
            new (map) Map{keys, from_python(values).sequence()};
          },
          nb::arg("keys"), nb::arg("values"))
      .def_ro("keys", &Map::keys, "The keys, a tensor [n] of int64 or string.")
      .def_prop_ro(
          "values", [](const Map& map) { return nb::cast<nb::list>(to_python(Value(map.values))); },
          "The values, a list of as many items as there are keys.");
}

}  // namespace lathe::python
