// Modules and their parameters; the package's lathe.nn makes them pleasant. Modules that Python classes bring
// are asked for their members whenever the library wants them. The interpreter lock is held by all of it.
#include "lathe/nn.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "lathe/safetensors.h"
#include "nn.h"

namespace lathe::python {

void members_from_python(nb::handle self, nn::Fields& f) {
  for (nb::handle item : nb::cast<nb::list>(self.attr("_members")())) {
    const auto name = nb::cast<std::string>(item[0]);
    const nb::object member = item[1];
    if (nb::isinstance<nn::Parameter>(member))
      f(name, nb::cast<nn::Parameter&>(member));
    else
      f(name, nb::cast<nn::Module&>(member));
  }
}

namespace {

using Ints = std::vector<int64_t>;

/// A module whose class is Python's. It does not keep the object alive, which keeps it.
class PythonModule : public nn::Module {
 public:
  explicit PythonModule(const nb::object& self) : self_(nb::weakref(self)) {}
  void fields(nn::Fields& f) override {
    const nb::object self = self_();
    if (!self.is_none()) members_from_python(self, f);
  }
  /// The Python object of this module; none when it no longer exists.
  nb::object object() const { return self_(); }
  std::optional<TensorRef> instead(const TensorRef& x) const { return substituted(x); }

 private:
  nb::object self_;
};

/// The members of one module, not those below them.
class Members : public nn::Fields {
 public:
  explicit Members(std::string wanted = {}) : wanted_(std::move(wanted)) {}
  nb::list all;
  nn::Parameter* found = nullptr;

 protected:
  void parameter(std::string_view name, nn::Parameter& p) override {
    if (name == wanted_) found = &p;
    all.append(nb::make_tuple(std::string(name), nn::Parameter(p)));
  }
  void module(std::string_view name, nn::Module& m) override {
    all.append(nb::make_tuple(std::string(name), nb::cast(&m, nb::rv_policy::reference)));
  }

 private:
  std::string wanted_;
};

/// Replaces the parameter `name` of a module. Throws AttributeError if it has none of that name.
void tie(nn::Module& m, const std::string& name, const nn::Parameter& p) {
  Members members(name);
  m.fields(members);
  if (!members.found) throw nb::attribute_error(("no parameter is called '" + name + "'").c_str());
  *members.found = p;
}

nb::dict bind(nn::Module& m, const Checkpoint& c, const nb::dict& given) {
  nn::BindOptions o;
  o.rename = nb::cast<std::vector<std::pair<std::string, std::string>>>(given["rename"]);
  o.base_prefix = nb::cast<std::string>(given["base_prefix"]);
  o.other_parts = nb::cast<std::vector<std::pair<std::string, std::string>>>(given["other_parts"]);
  o.convert = nb::cast<bool>(given["convert"]);
  o.allow_missing = nb::cast<bool>(given["allow_missing"]);
  auto* model = dynamic_cast<nn::Model*>(&m);
  const nn::BindReport r = model ? model->bind(c, o) : m.bind(c, o);
  nb::dict d;
  d["bound"] = r.bound;
  d["missing"] = nb::cast(r.missing);
  d["unexpected"] = nb::cast(r.unexpected);
  d["converted"] = nb::cast(r.converted);
  d["untied"] = nb::cast(r.untied);
  return d;
}

/// While a `with` lasts.
class EmissionHandle {
 public:
  EmissionHandle(Network network, nn::Module& root, std::string prefix, nb::list substitutes)
      : network_(std::move(network)), root_(root), prefix_(std::move(prefix)) {
    for (nb::handle item : substitutes)
      substitutes_.push_back(
          {nb::cast<std::string>(item[0]),
           [emit = nb::object(item[1])](const nn::Module&, Network& n, const TensorRef& x) {
             return argument<TensorRef>(emit(Network(n), x), "a tensor");
           }});
  }
  void begin() { emission_ = std::make_unique<nn::Emission>(network_, root_, prefix_, substitutes_); }
  void end() { emission_.reset(); }

 private:
  Network network_;
  nn::Module& root_;
  std::string prefix_;
  std::vector<nn::Substitute> substitutes_;
  std::unique_ptr<nn::Emission> emission_;
};

void bind_tree(nb::module_& m) {
  nb::class_<nn::Parameter>(m, "Parameter",
                            "The native half of lathe.nn.Parameter, which describes its methods.")
      .def("__init__",
           [](nn::Parameter* p, const std::string& type, nb::handle shape) {
             new (p) nn::Parameter(type_named(type), shape_from_python(shape));
           })
      .def(
          "is_same", [](const nn::Parameter& a, const nn::Parameter& b) { return a == b; },
          "Returns whether both are handles of one parameter.")
      .def(
          "dtype", [](const nn::Parameter& p) { return std::string(name_of(p.type())); },
          "Returns the element type.")
      .def(
          "set_dtype", [](nn::Parameter& p, const std::string& type) { p.set_type(type_named(type)); },
          "Sets the element type and removes weights of another one.")
      .def(
          "shape", [](const nn::Parameter& p) { return shape_to_python(p.shape()); }, "Returns the shape.")
      .def("bound", &nn::Parameter::bound, "Returns whether it has weights.")
      .def("name", &nn::Parameter::name, "Returns its path.")
      .def(
          "value", [](const nn::Parameter& p) { return Tensor(p.value.tensor()); }, "Returns the weights.")
      .def(
          "set_value", [](nn::Parameter& p, const Tensor& t) { p.value = t; }, "Sets the weights.")
      .def(
          "reset", [](nn::Parameter& p) { p.value.reset(); }, "Removes the weights.");
  nb::class_<nn::Module>(m, "Module", "The native half of lathe.nn.Module, which describes its methods.")
      .def(
          "members",
          [](nn::Module& self) {
            Members members;
            self.fields(members);
            return members.all;
          },
          "Returns the parameters and modules by name, without those below them.")
      .def("tie", &tie, "Puts another parameter in the place of one.")
      .def(
          "parameter", [](const nn::Module& self, const std::string& path) { return self.parameter(path); },
          "Returns a parameter by path or alias.")
      .def(
          "named_parameters",
          [](const nn::Module& self) {
            nb::list all;
            for (const nn::NamedParameter& p : self.named_parameters())
              all.append(nb::make_tuple(p.name, nn::Parameter(p.parameter), p.aliases));
            return all;
          },
          "Returns (path, parameter, aliases) of all parameters.")
      .def(
          "named_modules",
          [](nn::Module& self) {
            nb::list all;
            for (const auto& [path, module] : self.named_modules())
              all.append(nb::make_tuple(path, nb::cast(module, nb::rv_policy::reference)));
            return all;
          },
          "Returns (path, module) of this module and of those below it.")
      .def("unbound", &nn::Module::unbound, "Returns the paths of parameters without weights.")
      .def(
          "to", [](nn::Module& self, const std::string& type) { self.to(type_named(type)); },
          "Sets the type of all floating-point parameters.")
      .def("bind", &bind, "Binds the tensors of a checkpoint and returns a report.")
      // Operators that a module's own methods append go to the network in which the module is emitted.
      .def(
          "network", [](const nn::Module& self, const TensorRef& x) { return nn::Ops(self, x).network(); },
          "Returns the network that the module appends to.")
      .def(
          "name_for",
          [](const nn::Module& self, const TensorRef& x, const std::string& op) {
            return nn::Ops(self, x).name_for(op);
          },
          "Returns the name of an operator that the module appends.")
      .def(
          "use",
          [](const nn::Module& self, const TensorRef& x, const nn::Parameter& p) {
            return nn::Ops(self, x).use(p);
          },
          "Returns a parameter as a constant of the network.");
  nb::class_<PythonModule, nn::Module>(m, "PythonModule",
                                       "A module whose class is Python's; it does not keep the object alive.")
      .def(nb::init<const nb::object&>())
      .def("object", &PythonModule::object, "Returns the Python object, or None where it is gone.")
      .def("substituted", &PythonModule::instead,
           "Returns what an emission puts in the module's place, or None.");
  nb::class_<EmissionHandle>(m, "Emission", "The native half of lathe.nn.Emission.")
      .def(nb::init<Network, nn::Module&, std::string, nb::list>(), nb::keep_alive<1, 3>())
      .def("begin", &EmissionHandle::begin, "Begins naming what modules append.")
      .def("end", &EmissionHandle::end, "Ends naming what modules append.");
}

TensorRef call(const auto& module, const TensorRef& x) { return module(x); }

/// A layer of one tensor.
template <class M>
nb::class_<M, nn::Module> layer(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<M, nn::Module>(m, name, doc)
      .def("call", &call<M>,
           "Appends the layer and returns its outputs; forward of the class in lathe.nn describes it.");
}

template <size_t Axes>
void bind_conv(nb::module_& m, const char* name, const char* doc) {
  layer<nn::Conv<Axes>>(m, name, doc)
      .def("__init__", [](nn::Conv<Axes>* c, int64_t in, int64_t out, const Ints& window, const Ints& stride,
                          const Ints& padding, const Ints& dilation, int64_t groups, bool bias) {
        new (c) nn::Conv<Axes>(in, out, window, {stride, padding, dilation, groups, bias});
      });
}

template <class P>
void bind_pool(nb::module_& m, const char* name, const char* doc) {
  layer<P>(m, name, doc)
      .def("__init__", [](P* p, const Ints& window, const Ints& stride, const Ints& padding,
                          const Ints& dilation, bool round_up, bool count_padding) {
        new (p) P(window, nn::PoolOptions{stride, padding, dilation, round_up, count_padding});
      });
}

template <class R>
void bind_recurrent(nb::module_& m, const char* name, const char* doc) {
  nb::class_<R, nn::Module>(m, name, doc)
      .def("__init__",
           [](R* r, int64_t in, int64_t hidden, int64_t layers, bool bias, bool batch_first, bool both) {
             new (r) R(in, hidden, {layers, bias, batch_first, both});
           })
      .def(
          "call",
          [](const R& r, const TensorRef& x, const TensorRef& hidden, const TensorRef& cell) {
            const nn::RecurrentResult y = r(x, hidden, cell);
            return std::vector<TensorRef>{y.output, y.hidden, y.cell};
          },
          "Appends the layer and returns its outputs; forward of the class in lathe.nn describes it.");
}

void bind_simple_layers(nb::module_& m) {
  layer<nn::Linear>(m, "Linear", "The native half of lathe.nn.Linear.")
      .def("__init__", [](nn::Linear* l, int64_t in, int64_t out, bool bias, bool transposed) {
        new (l) nn::Linear(in, out, {bias, transposed});
      });
  layer<nn::Lora>(m, "Lora", "The native half of lathe.nn.Lora.")
      .def(nb::init<const nn::Linear&, int64_t, double>())
      .def_rw("scale", &nn::Lora::scale, "The factor of the adaptation.")
      .def("merged_weight", &nn::Lora::merged_weight, "Returns the base's weight with the adaptation added.");
  layer<nn::Embedding>(m, "Embedding", "The native half of lathe.nn.Embedding.")
      .def(nb::init<int64_t, int64_t>());
  layer<nn::LayerNorm>(m, "LayerNorm", "The native half of lathe.nn.LayerNorm.")
      .def("__init__", [](nn::LayerNorm* l, const Ints& shape, double epsilon, bool bias) {
        new (l) nn::LayerNorm(shape, {epsilon, bias});
      });
  layer<nn::RmsNorm>(m, "RmsNorm", "The native half of lathe.nn.RmsNorm.")
      .def("__init__", [](nn::RmsNorm* l, int64_t size, double epsilon, bool plus_one) {
        new (l) nn::RmsNorm(size, {epsilon, plus_one});
      });
  layer<nn::GroupNorm>(m, "GroupNorm", "The native half of lathe.nn.GroupNorm.")
      .def("__init__", [](nn::GroupNorm* l, int64_t groups, int64_t channels, double epsilon, bool affine) {
        new (l) nn::GroupNorm(groups, channels, {epsilon, affine});
      });
  layer<nn::BatchNorm>(m, "BatchNorm", "The native half of lathe.nn.BatchNorm.")
      .def("__init__", [](nn::BatchNorm* l, int64_t channels, double epsilon, bool affine) {
        new (l) nn::BatchNorm(channels, {epsilon, affine});
      });
  layer<nn::Activation>(m, "Activation", "The native half of lathe.nn.Activation.")
      .def(nb::init<std::string>());
  layer<nn::Cast>(m, "Cast", "The native half of lathe.nn.Cast.")
      .def("__init__", [](nn::Cast* c, const std::string& to) { new (c) nn::Cast(type_named(to)); });
  layer<nn::Mlp>(m, "Mlp", "The native half of lathe.nn.Mlp.")
      .def("__init__", [](nn::Mlp* l, int64_t size, int64_t inner, const std::string& activation, bool bias) {
        new (l) nn::Mlp(size, inner, {activation, bias});
      });
  layer<nn::GatedMlp>(m, "GatedMlp", "The native half of lathe.nn.GatedMlp.")
      .def("__init__",
           [](nn::GatedMlp* l, int64_t size, int64_t inner, const std::string& activation, bool bias) {
             new (l) nn::GatedMlp(size, inner, {activation, bias});
           });
}

void bind_windows(nb::module_& m) {
  bind_conv<1>(m, "Conv1d", "The native half of lathe.nn.Conv1d.");
  bind_conv<2>(m, "Conv2d", "The native half of lathe.nn.Conv2d.");
  bind_conv<3>(m, "Conv3d", "The native half of lathe.nn.Conv3d.");
  layer<nn::ConvTranspose2d>(m, "ConvTranspose2d", "The native half of lathe.nn.ConvTranspose2d.")
      .def("__init__", [](nn::ConvTranspose2d* c, int64_t in, int64_t out, const Ints& window,
                          const Ints& stride, const Ints& padding, const Ints& output_padding,
                          const Ints& dilation, int64_t groups, bool bias) {
        new (c)
            nn::ConvTranspose2d(in, out, window, {stride, padding, output_padding, dilation, groups, bias});
      });
  bind_pool<nn::MaxPool>(m, "MaxPool", "The native half of lathe.nn.MaxPool.");
  bind_pool<nn::AvgPool>(m, "AvgPool", "The native half of lathe.nn.AvgPool.");
  layer<nn::GlobalAvgPool>(m, "GlobalAvgPool", "The native half of lathe.nn.GlobalAvgPool.")
      .def(nb::init<>());
  bind_recurrent<nn::Lstm>(m, "Lstm", "The native half of lathe.nn.Lstm.");
  bind_recurrent<nn::Gru>(m, "Gru", "The native half of lathe.nn.Gru.");
}

nn::RopeOptions rope_options(const nb::dict& d) {
  nn::RopeOptions o;
  const auto take = [&]<class T>(const char* key, T& to) {
    if (d.contains(key)) to = nb::cast<T>(d[key]);
  };
  take("theta", o.theta), take("type", o.type), take("factor", o.factor);
  take("max_positions", o.max_positions), take("original_max_positions", o.original_max_positions);
  take("low_freq_factor", o.low_freq_factor), take("high_freq_factor", o.high_freq_factor);
  take("beta_fast", o.beta_fast), take("beta_slow", o.beta_slow), take("truncate", o.truncate);
  take("mscale", o.mscale), take("mscale_all_dim", o.mscale_all_dim);
  take("short_factor", o.short_factor), take("long_factor", o.long_factor);
  take("attention_factor", o.attention_factor);
  take("interleaved", o.interleaved), take("partial", o.partial);
  return o;
}

nn::Attention make_attention(int64_t size, int64_t heads, const nb::dict& d) {
  nn::AttentionModuleOptions o;
  o.groups = nb::cast<int64_t>(d["groups"]);
  o.head_size = nb::cast<int64_t>(d["head_size"]);
  o.memory_size = nb::cast<int64_t>(d["memory_size"]);
  o.bias = nb::cast<bool>(d["bias"]);
  o.output_bias = nb::cast<bool>(d["output_bias"]);
  o.causal = nb::cast<bool>(d["causal"]);
  o.window = nb::cast<int64_t>(d["window"]);
  o.alibi = nb::cast<bool>(d["alibi"]);
  o.scale = nb::cast<std::optional<double>>(d["scale"]);
  o.softcap = nb::cast<double>(d["softcap"]);
  if (!d["rope"].is_none()) o.rope = rope_options(nb::cast<nb::dict>(d["rope"]));
  return nn::Attention(size, heads, o);
}

void bind_attention(nb::module_& m) {
  nb::class_<nn::Rope, nn::Module>(m, "Rope", "The native half of lathe.nn.Rope.")
      .def("__init__", [](nn::Rope* r, int64_t head_size,
                          const nb::dict& o) { new (r) nn::Rope(head_size, rope_options(o)); })
      .def(
          "angles",
          [](const nn::Rope& r, const TensorRef& positions) {
            const nn::RopeAngles a = r.angles(positions);
            return std::make_pair(a.cos, a.sin);
          },
          "Returns cos and sin of positions.")
      .def(
          "call",
          [](const nn::Rope& r, const TensorRef& x, const TensorRef& cos, const TensorRef& sin) {
            return r(x, {cos, sin});
          },
          "Appends x rotated by the angles.");
  nb::class_<nn::Attention, nn::Module>(m, "Attention", "The native half of lathe.nn.Attention.")
      .def("__init__", [](nn::Attention* a, int64_t size, int64_t heads,
                          const nb::dict& o) { new (a) nn::Attention(make_attention(size, heads, o)); })
      .def(
          "call",
          [](const nn::Attention& a, const TensorRef& x, const TensorRef& memory, const TensorRef& padding,
             const TensorRef& mask, const TensorRef& positions, const TensorRef& past_key,
             const TensorRef& past_value) {
            const nn::AttentionResult y = a(x, {memory, padding, mask, positions, {past_key, past_value}});
            return std::vector<TensorRef>{y.output, y.present.key, y.present.value};
          },
          "Appends attention and returns the output, the keys and the values.");
}

void bind_functions(nb::module_& m) {
  m.def(
      "activate",
      [](const nn::Module& self, const std::string& name, const TensorRef& x) {
        return nn::activate(nn::Ops(self, x), name, x);
      },
      "Appends an activation by name; lathe.nn.activate describes it.");
  m.def(
      "split_heads",
      [](const nn::Module& self, const TensorRef& x, int64_t heads) {
        return nn::split_heads(nn::Ops(self, x), x, heads);
      },
      "Appends x with its heads as an axis; lathe.nn.split_heads describes it.");
  m.def(
      "merge_heads",
      [](const nn::Module& self, const TensorRef& x) { return nn::merge_heads(nn::Ops(self, x), x); },
      "Appends x with its heads in the last axis; lathe.nn.merge_heads describes it.");
  m.def(
      "attend",
      [](const nn::Module& self, const TensorRef& q, const TensorRef& k, const TensorRef& v,
         const TensorRef& mask, std::optional<double> scale, double softcap) {
        return nn::attend(nn::Ops(self, q), q, k, v, {mask, scale, softcap});
      },
      "Appends attention; lathe.nn.attend describes it.");
  m.def(
      "attention_mask",
      [](const nn::Module& self, const TensorRef& padding, const TensorRef& queries, const TensorRef& keys,
         const std::string& type, bool causal, int64_t window) {
        const TensorRef mask = nn::attention_mask(nn::Ops(self, keys), padding, queries, keys,
                                                  type_named(type), {causal, window});
        return mask ? std::optional(mask) : std::nullopt;
      },
      "Appends a mask, or returns None; lathe.nn.attention_mask describes it.");
  m.def(
      "alibi_bias",
      [](const nn::Module& self, int64_t heads, const TensorRef& keys, const std::string& type,
         const TensorRef& queries) {
        return nn::alibi_bias(nn::Ops(self, keys), heads, keys, type_named(type), queries);
      },
      "Appends ALiBi's position bias; lathe.nn.alibi_bias describes it.");
  m.def(
      "relative_bias",
      [](const nn::Module& self, const nn::Parameter& weight, const TensorRef& queries, const TensorRef& keys,
         int64_t buckets, int64_t max_distance, bool both) {
        const nn::Ops o(self, keys);
        return nn::relative_bias(o, o.use(weight), queries, keys, {buckets, max_distance, both});
      },
      "Appends T5's relative position bias; lathe.nn.relative_bias describes it.");
}

ModelConfig config_from_python(const nb::object& config) {
  if (nb::isinstance<nb::str>(config)) return ModelConfig::parse(nb::cast<std::string>(config));
  return ModelConfig::open(nb::cast<std::filesystem::path>(config));
}

void bind_models(nb::module_& m) {
  nb::class_<nn::Model, nn::Module>(m, "Model", "The native half of lathe.nn.Model.")
      .def(
          "forward",
          [](const nn::Model& self, Network& network, const nb::dict& given) {
            nn::Inputs inputs;
            for (auto [name, t] : given) inputs.set(nb::cast<std::string>(name), nb::cast<TensorRef>(t));
            nb::dict outputs;
            for (const auto& [name, t] : self.forward(network, inputs)) outputs[name.c_str()] = nb::cast(t);
            return outputs;
          },
          "Appends the model for tensors by name and returns the outputs by name.");
  m.def(
      "model_types", [] { return nn::ModelRegistry::builtin().model_types(); },
      "Returns the model types of the library's architectures.");
  m.def(
      "model_tasks", [](const std::string& type) { return nn::ModelRegistry::builtin().tasks(type); },
      "Returns the tasks of a model type.");
  m.def(
      "make_model",
      [](const nb::object& config, const std::string& task) {
        return nn::ModelRegistry::builtin().make(config_from_python(config), task);
      },
      "Returns the model of a config.json, its path or its text, for a task.");
}

void bind_checkpoints(nb::module_& m) {
  nb::class_<Checkpoint>(m, "Checkpoint", "The native half of lathe.Checkpoint, which describes its methods.")
      .def_static(
          "open",
          [](const std::filesystem::path& path, bool untrusted) {
            return Checkpoint::open(path, {.untrusted = untrusted});
          },
          "Opens a file or a directory.")
      .def(
          "format", [](const Checkpoint& c) { return std::string(name_of(c.format())); },
          "Returns the format of the files.")
      .def(
          "names",
          [](const Checkpoint& c) {
            std::vector<std::string> names;
            for (const CheckpointTensor& t : c.tensors()) names.push_back(t.name);
            return names;
          },
          "Returns the names of the tensors.")
      .def(
          "contains", [](const Checkpoint& c, const std::string& name) { return c.contains(name); },
          "Returns whether there is a tensor of that name.")
      .def(
          "tensor", [](const Checkpoint& c, const std::string& name) { return c.tensor(name); },
          "Returns a tensor, mapped where it can be.")
      .def(
          "blocks", [](const Checkpoint& c, const std::string& name) { return c.blocks(name); },
          "Returns the blocks of a tensor as bytes.")
      .def(
          "metadata", [](const Checkpoint& c) { return c.metadata(); },
          "Returns the entries of safetensors' __metadata__, or of GGUF those that are no arrays.")
      .def("tied", &Checkpoint::tied, "Returns groups of names for the same elements.")
      .def("duplicates", &Checkpoint::duplicates, nb::call_guard<nb::gil_scoped_release>(),
           "Returns groups of names for equal tensors.")
      .def(
          "files",
          [](const Checkpoint& c) {
            std::vector<std::string> files;
            for (const std::filesystem::path& f : c.files()) files.push_back(f.string());
            return files;
          },
          "Returns the paths of the files.")
      .def(
          "info",
          [](const Checkpoint& c, const std::string& name) {
            const CheckpointTensor& t = c.at(name);
            nb::dict d;
            d["name"] = t.name;
            d["dtype"] = std::string(name_of(t.type));
            d["shape"] = shape_to_python(t.shape);
            d["bytes"] = t.bytes;
            d["file"] = t.file.string();
            d["mapped"] = t.mapped;
            d["blocks"] = t.blocks;
            d["block_bytes"] = t.block_bytes;
            return d;
          },
          "Returns the header of a tensor, as a dict with the fields of TensorInfo.");
  m.def(
      "save_safetensors",
      [](const std::filesystem::path& path, const nb::dict& given,
         const std::map<std::string, std::string>& metadata) {
        std::vector<std::pair<std::string, Tensor>> tensors;
        for (auto [name, t] : given) tensors.emplace_back(nb::cast<std::string>(name), nb::cast<Tensor>(t));
        save_safetensors(path, tensors, metadata);
      },
      "Writes tensors by name as a safetensors file.");
  m.def(
      "from_file",
      [](const std::filesystem::path& path, const std::string& name) { return from_file(path, name); },
      "Returns the tensor of a .npy file, or one of a checkpoint by name.");
}

}  // namespace

void bind_nn(nb::module_& module) {
  bind_checkpoints(module);
  nb::module_ m = module.def_submodule("nn", "The native half of lathe.nn.");
  bind_tree(m);
  bind_simple_layers(m);
  bind_windows(m);
  bind_attention(m);
  bind_functions(m);
  bind_models(m);
}

}  // namespace lathe::python
