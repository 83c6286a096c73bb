// Bindings of exports: configurations and architectures of Python classes, and the export itself. An export
// holds the interpreter lock only while it calls Python.
#include "lathe/exporters.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {
namespace {

using namespace exporters;

NamedAxes axes_from_python(nb::handle h) {
  NamedAxes all;
  for (auto [name, axes] : nb::cast<nb::dict>(h))
    all[nb::cast<std::string>(name)] = nb::cast<std::map<int, std::string>>(axes);
  return all;
}
nb::dict to_python(const NamedAxes& axes) {
  nb::dict all;
  for (const auto& [name, named] : axes) all[name.c_str()] = nb::cast(named);
  return all;
}

DummyShapes shapes_from_python(const nb::dict& d) {
  DummyShapes s;
  const std::map<std::string, int64_t*> sizes = {{"batch_size", &s.batch_size},
                                                 {"sequence_length", &s.sequence_length},
                                                 {"num_choices", &s.num_choices},
                                                 {"width", &s.width},
                                                 {"height", &s.height},
                                                 {"num_channels", &s.num_channels},
                                                 {"point_batch_size", &s.point_batch_size},
                                                 {"nb_points_per_image", &s.nb_points_per_image},
                                                 {"visual_seq_length", &s.visual_seq_length},
                                                 {"feature_size", &s.feature_size},
                                                 {"nb_max_frames", &s.nb_max_frames},
                                                 {"audio_sequence_length", &s.audio_sequence_length}};
  for (auto [key, value] : d) {
    const auto name = nb::cast<std::string>(key);
    const auto at = sizes.find(name);
    if (at != sizes.end())
      *at->second = nb::cast<int64_t>(value);
    else if (name == "text_batch_size")
      s.text_batch_size = nb::cast<int64_t>(value);
    else if (name == "encoder_sequence_length")
      s.encoder_sequence_length = nb::cast<int64_t>(value);
    else if (name == "past_sequence_length")
      s.past_sequence_length = nb::cast<int64_t>(value);
    else if (name == "seed")
      s.seed = nb::cast<uint64_t>(value);
    else
      throw Error(Code::bad_argument, "export", "the name of a size", "'" + name + "'");
  }
  return s;
}

/// A Python object that threads may copy and release without the interpreter lock.
using Held = std::shared_ptr<nb::object>;
Held held(nb::object o) {
  return {new nb::object(std::move(o)), [](nb::object* p) {
            const nb::gil_scoped_acquire lock;
            delete p;
          }};
}

/// The fields of a Python class. Its methods are called when they are needed.
struct ClassFields {
  Held self;
  NormalizedConfigKind::Names words;
  std::vector<std::string> forward_arguments;
  double atol = 1e-5;
  int opset = 18;
  bool pads_mask = false;  // of configs with past

  explicit ClassFields(nb::object s) : self(held(s)) {
    words = nb::cast<NormalizedConfigKind::Names>(s.attr("_words")());
    forward_arguments = nb::cast<std::vector<std::string>>(s.attr("_forward_arguments")());
    atol = nb::cast<double>(s.attr("ATOL_FOR_VALIDATION"));
    opset = nb::cast<int>(s.attr("DEFAULT_ONNX_OPSET"));
    pads_mask = nb::cast<bool>(s.attr("PAD_ATTENTION_MASK_TO_PAST"));
  }
};

nb::dict to_python(const DummyShapes& s) {
  nb::dict d;
  d["batch_size"] = s.batch_size;
  d["text_batch_size"] = s.text_batch_size.value_or(s.batch_size);
  d["sequence_length"] = s.sequence_length;
  d["encoder_sequence_length"] = s.encoder_sequence_length.value_or(s.sequence_length);
  d["past_sequence_length"] = s.past_sequence_length.value_or(s.sequence_length);
  d["num_choices"] = s.num_choices;
  d["width"] = s.width;
  d["height"] = s.height;
  d["num_channels"] = s.num_channels;
  d["point_batch_size"] = s.point_batch_size;
  d["nb_points_per_image"] = s.nb_points_per_image;
  d["visual_seq_length"] = s.visual_seq_length;
  d["feature_size"] = s.feature_size;
  d["nb_max_frames"] = s.nb_max_frames;
  d["audio_sequence_length"] = s.audio_sequence_length;
  d["seed"] = s.seed;
  return d;
}

/// A generator that a Python class makes: `make(task, normalized_config, shapes)`.
class PythonGenerator : public DummyInputGenerator {
 public:
  PythonGenerator(const nb::object& make, const std::string& task, const NormalizedConfig& config,
                  const DummyShapes& shapes)
      : DummyInputGenerator(task, config, shapes), self_(held(make(task, config, to_python(shapes)))) {
    names_ = nb::cast<std::vector<std::string>>(self_->attr("_names")());
  }
  std::vector<std::string> supported_input_names() const override { return names_; }
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override {
    const nb::gil_scoped_acquire lock;
    self_->attr("sequence_length") = shapes().sequence_length;
    return from_python(self_->attr("_generate")(name, std::string(name_of(int_type)),
                                                std::string(name_of(float_type))))
        .tensor();
  }

 private:
  Held self_;
  std::vector<std::string> names_;
};
DummyInputGeneratorClass generator_class_of(nb::object fields) {
  if (nb::isinstance<nb::str>(fields)) return nb::cast<std::string>(fields).c_str();
  return DummyInputGeneratorClass::Make(
      [make = held(fields)](const std::string& task, const NormalizedConfig& config,
                            const DummyShapes& shapes, const Preprocessors&) {
        const nb::gil_scoped_acquire lock;
        return std::make_unique<PythonGenerator>(*make, task, config, shapes);
      });
}

/// A class of the library with what a Python class derived from it says otherwise. With `plain` it says
/// nothing of inputs and outputs: that is what super() reaches.
template <class Base>
class FromPython : public Base {
 public:
  FromPython(const ModelConfig& config, const OnnxConfigOptions& options, ClassFields fields, bool plain)
      : Base(config, options), fields_(std::move(fields)), plain_(plain) {}
  NamedAxes inputs() const override {
    if (plain_) {
      if constexpr (requires(const Base& b) { b.Base::inputs(); } && !std::is_abstract_v<Base>)
        return Base::inputs();
      else
        throw Error(Code::not_supported, "export", "a config that says its inputs", "one that does not",
                    "define the property `inputs`");
    }
    const nb::gil_scoped_acquire lock;
    return axes_from_python(asked().attr("inputs"));
  }
  NamedAxes outputs() const override {
    if (plain_) return Base::outputs();
    const nb::gil_scoped_acquire lock;
    return axes_from_python(asked().attr("outputs"));
  }
  NormalizedConfigKind normalized_config_kind() const override {
    return Base::normalized_config_kind().with_args(fields_.words, true);
  }
  double atol_for_validation() const override { return fields_.atol; }
  int default_onnx_opset() const override { return fields_.opset; }
  std::map<std::string, std::string> values_override() const override {
    const nb::gil_scoped_acquire lock;
    auto all = Base::values_override();
    for (const auto& [key, text] : nb::cast<std::map<std::string, std::string>>(asked().attr("_overrides")()))
      all[key] = text;
    return all;
  }
  /// Returns the generators that the class makes itself, then those that it names, or else the inherited
  /// ones.
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    const nb::gil_scoped_acquire lock;
    const auto [own, named] = nb::cast<std::pair<nb::list, nb::list>>(fields_.self->attr("_generators")());
    std::vector<DummyInputGeneratorClass> all;
    for (nb::handle g : own) all.push_back(generator_class_of(nb::borrow(g)));
    for (nb::handle g : named) all.push_back(generator_class_of(nb::borrow(g)));
    if (named.size() == 0)
      for (auto& g : Base::dummy_input_generator_classes()) all.push_back(std::move(g));
    return all;
  }
  std::vector<PatchingSpec> patching_specs() const override {
    const nb::gil_scoped_acquire lock;
    auto all = Base::patching_specs();
    for (nb::handle one : nb::cast<nb::list>(asked().attr("_patches")()))
      all.push_back({nb::cast<std::string>(one[0]),
                     [make = held(nb::borrow(one[1]))](const nn::Module&, Network& n, const TensorRef& x) {
                       const nb::gil_scoped_acquire inner;
                       return argument<TensorRef>((*make)(Network(n), x), "a tensor");
                     }});
    return all;
  }
  std::vector<std::string> forward_arguments() const override {
    return fields_.forward_arguments.empty() ? Base::forward_arguments() : fields_.forward_arguments;
  }

 protected:
  const ClassFields& fields() const { return fields_; }

 private:
  /// The Python object, told what this one is made for.
  nb::object asked() const {
    const OnnxConfigOptions& o = this->options();
    return fields_.self->attr("_for")(o.task, o.use_past, o.use_past_in_inputs,
                                      std::string(name_of(o.behavior)), std::string(name_of(o.int_type)),
                                      std::string(name_of(o.float_type)));
  }
  ClassFields fields_;
  bool plain_;
};

template <class Base>
class PastFromPython : public FromPython<Base> {
 public:
  using FromPython<Base>::FromPython;
  bool pad_attention_mask_to_past() const override { return this->fields().pads_mask; }
};

using Maker = std::shared_ptr<OnnxConfig> (*)(const ModelConfig&, const OnnxConfigOptions&, ClassFields,
                                              bool);
template <class Base>
std::shared_ptr<OnnxConfig> make_from_python(const ModelConfig& config, const OnnxConfigOptions& options,
                                             ClassFields fields, bool plain) {
  if constexpr (std::is_base_of_v<OnnxConfigWithPast, Base>)
    return std::make_shared<PastFromPython<Base>>(config, options, std::move(fields), plain);
  else
    return std::make_shared<FromPython<Base>>(config, options, std::move(fields), plain);
}
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> all = {
      {"OnnxConfig", &make_from_python<OnnxConfig>},
      {"OnnxConfigWithPast", &make_from_python<OnnxConfigWithPast>},
      {"OnnxSeq2SeqConfigWithPast", &make_from_python<OnnxSeq2SeqConfigWithPast>},
      {"TextEncoderOnnxConfig", &make_from_python<TextEncoderOnnxConfig>},
      {"TextDecoderOnnxConfig", &make_from_python<TextDecoderOnnxConfig>},
      {"TextDecoderWithPositionIdsOnnxConfig", &make_from_python<TextDecoderWithPositionIdsOnnxConfig>},
      {"TextSeq2SeqOnnxConfig", &make_from_python<TextSeq2SeqOnnxConfig>},
      {"VisionOnnxConfig", &make_from_python<VisionOnnxConfig>},
      {"TextAndVisionOnnxConfig", &make_from_python<TextAndVisionOnnxConfig>},
      {"AudioOnnxConfig", &make_from_python<AudioOnnxConfig>},
      {"AudioToTextOnnxConfig", &make_from_python<AudioToTextOnnxConfig>},
  };
  return all;
}

OnnxConfigOptions options_from_python(const std::string& task, bool use_past, bool past_in_inputs,
                                      const std::string& behavior, const std::string& int_type,
                                      const std::string& float_type) {
  OnnxConfigOptions o;
  o.int_type = type_named(int_type);
  o.float_type = type_named(float_type);
  o.task = task;
  o.use_past = use_past;
  o.use_past_in_inputs = past_in_inputs;
  for (ConfigBehavior b : config_behaviors)
    if (name_of(b) == behavior) o.behavior = b;
  return o;
}

/// An architecture whose class is Python's: parameters by name, and a function of a network.
class PythonModel : public nn::Model {
 public:
  explicit PythonModel(nb::object self) : self_(std::move(self)) {
    for (auto [name, shape] : nb::cast<nb::dict>(self_.attr("parameters")()))
      parameters_[nb::cast<std::string>(name)] = nn::Parameter(DataType::float32, shape_from_python(shape));
  }
  ~PythonModel() override {
    const nb::gil_scoped_acquire lock;
    self_.reset();
  }
  void fields(nn::Fields& f) override {
    for (auto& [name, parameter] : parameters_) f(name, parameter);
  }
  nn::Outputs forward(Network& network, const nn::Inputs& inputs) const override {
    const nb::gil_scoped_acquire lock;
    const nn::Ops o(network);
    nb::dict given, weights;
    for (const auto& [name, t] : inputs) given[name.c_str()] = nb::cast(t);
    for (const auto& [name, p] : parameters_) weights[name.c_str()] = nb::cast(o.use(p));
    nn::Outputs outputs;
    for (auto [name, t] :
         nb::cast<nb::dict>(self_.attr("_forward")(nb::cast(Network(network)), given, weights)))
      outputs.set(nb::cast<std::string>(name), argument<TensorRef>(t, "a tensor"));
    return outputs;
  }

 private:
  nb::object self_;
  Ordered<nn::Parameter> parameters_;
};

/// An architecture that is a lathe.nn.Model of a Python class.
class ModuleModel : public nn::Model {
 public:
  explicit ModuleModel(nb::object self) : self_(std::move(self)) {}
  ~ModuleModel() override {
    const nb::gil_scoped_acquire lock;
    self_.reset();
  }
  void fields(nn::Fields& f) override {
    const nb::gil_scoped_acquire lock;
    // The name is empty, so that its paths are those of the module itself, which is emitted with this one.
    f("", nb::cast<nn::Module&>(self_.attr("_native")));
  }
  nn::Outputs forward(Network& network, const nn::Inputs& inputs) const override {
    const nb::gil_scoped_acquire lock;
    nb::dict given;
    for (const auto& [name, t] : inputs) given[name.c_str()] = nb::cast(t);
    nn::Outputs outputs;
    for (auto [name, t] : nb::cast<nb::dict>(self_.attr("_forward")(nb::cast(Network(network)), given)))
      outputs.set(nb::cast<std::string>(name), argument<TensorRef>(t, "a tensor"));
    return outputs;
  }
  std::string base_prefix() const override {
    const nb::gil_scoped_acquire lock;
    return nb::cast<std::string>(self_.attr("base_prefix"));
  }
  std::vector<std::pair<std::string, std::string>> other_parts() const override {
    const nb::gil_scoped_acquire lock;
    std::vector<std::pair<std::string, std::string>> all;
    for (const nb::handle pair : self_.attr("other_parts"))
      all.push_back(nb::cast<std::pair<std::string, std::string>>(pair));
    return all;
  }

 private:
  nb::object self_;
};

nb::dict run_to_python(const ValidationRun& run) {
  nb::dict d;
  d["sizes"] = run.sizes;
  d["seed"] = run.seed;
  d["beyond_atol"] = run.beyond_atol;
  nb::dict outputs;
  for (const auto& o : run.outputs) {
    nb::dict one;
    one["shape"] = shape_to_python(o.shape);
    one["engine_ulps"] = o.engine_ulps;
    one["allowed_ulps"] = o.allowed_ulps;
    one["reference_ulps"] = o.reference_ulps;
    one["largest_difference"] = o.absolute;
    outputs[o.name.c_str()] = one;
  }
  d["outputs"] = outputs;
  return d;
}

nb::dict to_python(const ExportReport& r) {
  nb::dict d, files, validation;
  for (const auto& f : r.files) files[f.name.c_str()] = f.bytes;
  for (const auto& [file, v] : r.validation) {
    nb::list runs;
    for (const ValidationRun& run : v.runs) runs.append(run_to_python(run));
    nb::dict one;
    one["runs"] = runs;
    one["skipped"] = nb::cast(v.skipped);
    one["one_size"] = nb::cast(v.one_size);
    validation[file.c_str()] = one;
  }
  d["model_type"] = r.model_type;
  d["library"] = r.library;
  d["task"] = r.task;
  d["opset"] = r.opset;
  d["files"] = files;
  d["unexpected"] = nb::cast(r.unexpected);
  d["left_out"] = nb::cast(r.left_out);
  d["untied"] = nb::cast(r.untied);
  d["validation"] = validation;
  if (r.recorded) d["recorded"] = run_to_python(*r.recorded);
  return d;
}

/// Keyword arguments, as the package's Python passes them on.
ExportOptions export_options(const nb::dict& d, const TasksManager* tasks) {
  ExportOptions o;
  o.tasks = tasks;
  const auto take = [&]<class T>(const char* key, T& to) {
    if (d.contains(key) && !d[key].is_none()) to = nb::cast<T>(d[key]);
  };
  take("task", o.task);
  take("opset", o.opset);
  take("monolith", o.monolith);
  take("no_post_process", o.no_post_process);
  take("no_dynamic_axes", o.no_dynamic_axes);
  take("widen_weights", o.widen_weights);
  take("legacy", o.legacy);
  take("variant", o.variant);
  take("library_name", o.library);
  take("engine", o.engine);
  take("threads", o.build.threads);
  std::string reference, optimize, dtype = "float32", int_dtype = "int64";
  int64_t pad = -1;
  bool validate = true;
  take("reference", reference);
  take("optimize", optimize);
  take("dtype", dtype);
  take("int_dtype", int_dtype);
  take("pad_token_id", pad);
  take("do_validation", validate);
  o.reference = reference;
  o.dtype = type_named(dtype);
  o.int_type = type_named(int_dtype);
  if (pad >= 0) o.pad_token_id = pad;
  for (OptimizationLevel level : optimization_levels)
    if (name_of(level) == optimize) o.optimize = level;
  if (d.contains("shapes")) o.shapes = shapes_from_python(nb::cast<nb::dict>(d["shapes"]));
  if (!validate) {
    o.validation.reset();
    return o;
  }
  double atol = -1, ulps = -1, memory = 4;
  take("atol", atol);
  take("ulps", ulps);
  take("validation_seconds", o.validation->seconds);
  take("validation_memory", memory);
  o.validation->memory_limit = static_cast<uint64_t>(memory * static_cast<double>(uint64_t{1} << 30));
  if (atol >= 0) o.validation->atol = atol;
  if (ulps >= 0) o.validation->ulps = ulps;
  o.validation->build.threads = o.build.threads;
  return o;
}

void bind_tasks(nb::module_& m) {
  nb::class_<TasksManager>(m, "TasksManager",
                           "The native half of lathe.exporters.TasksManager, which describes its methods.")
      .def("__init__", [](TasksManager* t) { new (t) TasksManager(TasksManager::builtin()); })
      .def_static("get_all_tasks", &TasksManager::get_all_tasks, "Returns the names of all tasks.")
      .def_static("map_from_synonym", &TasksManager::map_from_synonym,
                  "Returns the task that a name is a synonym of, or the name itself.")
      .def_static("known_task", &TasksManager::known_task,
                  "Returns the task that a name is or is a synonym of.")
      .def_static("synonyms_for_task", &TasksManager::synonyms_for_task, "Returns the other names of a task.")
      .def_static("infer_library_from_model", &TasksManager::infer_library_from_model,
                  "Returns the library that a checkpoint is of.")
      .def(
          "supports",
          [](const TasksManager& t, const std::string& type, const std::string& task) {
            return t.supports(type, task);
          },
          "Returns whether a model type can be exported for a task.")
      .def("model_types", &TasksManager::model_types, "Returns the model types that can be exported.")
      .def(
          "get_supported_tasks_for_model_type",
          [](const TasksManager& t, const std::string& type) {
            return t.get_supported_tasks_for_model_type(type);
          },
          "Returns the tasks of a model type.")
      .def(
          "get_supported_model_type_for_task",
          [](const TasksManager& t, const std::string& task) {
            return t.get_supported_model_type_for_task(task);
          },
          "Returns the model types of a task.")
      .def(
          "infer_task_from_model",
          [](const TasksManager& t, const std::filesystem::path& p) {
            return t.infer_task_from_model(ModelConfig::open(p));
          },
          "Returns the task that a checkpoint was made for.")
      .def(
          "register_config",
          [](TasksManager& t, const std::string& type, const std::vector<std::string>& tasks,
             const std::string& base, nb::object make, bool overwrite) {
            const Maker maker = makers().at(base);
            t.register_config(
                type, tasks,
                [maker, make = held(make)](const ModelConfig& config, const OnnxConfigOptions& o) {
                  const nb::gil_scoped_acquire lock;
                  return maker(config, o,
                               ClassFields((*make)(
                                   o.task, o.use_past, o.use_past_in_inputs, std::string(name_of(o.behavior)),
                                   std::string(name_of(o.int_type)), std::string(name_of(o.float_type)))),
                               false);
                },
                overwrite);
          },
          "Registers a function that makes configs for a model type and tasks.")
      .def(
          "register_model",
          [](TasksManager& t, const std::string& type, const std::vector<std::string>& tasks, nb::object make,
             bool of_modules) {
            t.models().add(type, tasks,
                           [make = held(make), of_modules](
                               const ModelConfig&, std::string_view task) -> std::unique_ptr<nn::Model> {
                             const nb::gil_scoped_acquire lock;
                             nb::object self = (*make)(std::string(task));
                             if (of_modules) return std::make_unique<ModuleModel>(std::move(self));
                             return std::make_unique<PythonModel>(std::move(self));
                           });
          },
          "Registers a function that makes models for a model type and tasks.");
}

/// A Python object and what it was made for: class of the library, object, config.json, task, use_past,
/// use_past_in_inputs, behavior, int_dtype, float_dtype.
using Asked = nb::tuple;

std::shared_ptr<OnnxConfig> made_for(const Asked& a, bool plain) {
  const auto text = [&](size_t i) { return nb::cast<std::string>(a[i]); };
  return makers().at(text(0))(
      ModelConfig::parse(text(2)),
      options_from_python(text(3), nb::cast<bool>(a[4]), nb::cast<bool>(a[5]), text(6), text(7), text(8)),
      ClassFields(nb::borrow(a[1])), plain);
}

/// Returns the value of a field, whatever its type.
nb::object value_of(const NormalizedConfig& c, const std::string& word) {
  nb::object found;
  const auto tried = [&]<class T>() {
    try {
      found = nb::cast(c.get<T>(word));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  if (!tried.template operator()<bool>() && !tried.template operator()<int64_t>() &&
      !tried.template operator()<double>() && !tried.template operator()<std::string>() &&
      !tried.template operator()<std::vector<int64_t>>())
    c.get<int64_t>(word);  // throws
  return found;
}

void bind_normalized_config(nb::module_& m) {
  nb::class_<NormalizedConfig>(m, "NormalizedConfig", "The native half of lathe.exporters.NormalizedConfig.")
      .def("get", &value_of, "Returns the value of an attribute, of whatever type it is.")
      .def(
          "has_attribute",
          [](const NormalizedConfig& c, const std::string& word) { return c.has_attribute(word); },
          "Returns whether an attribute has a value.")
      .def(
          "words", [](const NormalizedConfig& c) { return c.kind().words(); },
          "Returns the attributes that the kind renames.")
      .def(
          "kind", [](const NormalizedConfig& c) { return c.kind().name(); }, "Returns the name of the kind.");
  m.def(
      "normalized_config",
      [](const std::string& config, const std::string& kind, const NormalizedConfigKind::Names& words) {
        static const std::map<std::string, NormalizedConfigKind (*)()> kinds = {
            {"NormalizedConfig", &normalized_config},
            {"NormalizedTextConfig", &normalized_text_config},
            {"NormalizedTextConfigWithGQA", &normalized_text_config_with_gqa},
            {"NormalizedSeq2SeqConfig", &normalized_seq2seq_config},
            {"NormalizedVisionConfig", &normalized_vision_config},
            {"NormalizedSegformerConfig", &normalized_segformer_config},
            {"NormalizedTextAndVisionConfig", &normalized_text_and_vision_config},
            {"NormalizedTimeSeriesForecastingConfig", &normalized_time_series_forecasting_config}};
        const auto at = kinds.find(kind);
        if (at == kinds.end()) {
          std::string all;
          for (const auto& [name, make] : kinds) all += (all.empty() ? "" : ", ") + name;
          throw Error(Code::bad_argument, "export", "a kind of normalized configs: " + all, "'" + kind + "'");
        }
        return NormalizedConfig(ModelConfig::parse(config), at->second().with_args(words, true));
      },
      "Returns a config.json seen through a kind, with other keys for some attributes.");
  m.def(
      "normalized_config_of",
      [](const std::string& config) {
        const ModelConfig parsed = ModelConfig::parse(config);
        return NormalizedConfig(parsed, NormalizedConfigManager::get_normalized_config_class(
                                            parsed.get<std::string>("model_type")));
      },
      "Returns a config.json seen through the kind of its model type.");
}

}  // namespace

void bind_exporters(nb::module_& m) {
  bind_tasks(m);
  bind_normalized_config(m);
  // Methods that a Python class inherits.
  m.def(
      "plain_axes",
      [](const Asked& asked, bool outputs) {
        const auto made = made_for(asked, true);
        return to_python(outputs ? made->outputs() : made->inputs());
      },
      "Returns the inputs or outputs that the library's class gives a config.");
  m.def(
      "past_axes",
      [](const Asked& asked, bool outputs) {
        const auto made = made_for(asked, true);
        NamedAxes axes;
        dynamic_cast<const OnnxConfigWithPast&>(*made).add_past_key_values(
            axes, outputs ? PastDirection::outputs : PastDirection::inputs);
        return to_python(axes);
      },
      "Returns the inputs or outputs for the past of a config.");
  m.def(
      "dummy_inputs",
      [](const Asked& asked, const nb::dict& shapes) {
        nb::dict all;  // in the order of the file
        for (const auto& [name, t] : made_for(asked, false)->file_inputs(shapes_from_python(shapes)))
          all[name.c_str()] = to_python(Value(t));
        return all;
      },
      "Returns synthetic inputs of a config for sizes.");
  m.def(
      "config_of", [](const Asked& asked) { return made_for(asked, false)->normalized_config(); },
      "Returns the normalized config of a config.");
  m.def("dummy_input_generators", &dummy_input_generators, "Returns the names of the library's generators.");
  m.def(
      "export_checkpoint",
      [](const std::filesystem::path& checkpoint, const std::filesystem::path& output,
         const nb::dict& options, const TasksManager* tasks) {
        const ExportOptions o = export_options(options, tasks);
        ExportReport report;
        {
          const nb::gil_scoped_release unlocked;
          report = export_checkpoint(checkpoint, output, o);
        }
        return to_python(report);
      },
      nb::arg("checkpoint"), nb::arg("output"), nb::arg("options"), nb::arg("tasks").none(),
      "Exports a checkpoint and returns a report; lathe.exporters.export describes it.");
}

}  // namespace lathe::python
