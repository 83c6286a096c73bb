// One add_* call at work: operators are appended and inferred one by one; what was added is taken back
// unless the call comes to its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/call.h"
#include "network/state.h"

namespace lathe {

/// Attributes in a chain: Attrs().ints("pads", …).set("group", 1).
struct Attrs : Attributes {
  Attrs& with(std::string name, AttributeValue v) {
    Attributes::set(std::move(name), std::move(v));
    return *this;
  }
  /// Left out when empty.
  Attrs& ints(std::string name, std::vector<int64_t> v) {
    return v.empty() ? *this : with(std::move(name), std::move(v));
  }
  Attrs& number(std::string name, int64_t v) { return with(std::move(name), v); }
  Attrs& text(std::string name, std::string_view v) { return with(std::move(name), std::string(v)); }
  Attrs& type(std::string name, DataType t) { return with(std::move(name), static_cast<int64_t>(t)); }
};

class LayerMaker;

/// Writes down the arguments of a call.
class CallText {
 public:
  CallText(LayerMaker& m, const char* method) : maker_(m) { call_.method = method; }
  template <class T>
  void argument(const T& x) {
    if (!first_) text_ += ", ";
    first_ = false;
    write(x);
  }
  LayerCall take() {
    piece();
    return std::move(call_);
  }

 private:
  LayerCall::Piece& piece() {
    call_.pieces.push_back({std::exchange(text_, {}), no_id, {}});
    return call_.pieces.back();
  }
  void write(const TensorRef& t);
  void write(const BodyOfCall& b) { piece().body = b.name; }
  template <class T>
  void write(const T& x) {
    if constexpr (OptionsOfCall<T>)
      options(x);
    else
      text_ += cpp_text::text(x);
  }
  void write(const std::vector<TensorRef>& list) {
    text_ += "{";
    for (size_t i = 0; i < list.size(); ++i) {
      text_ += i ? ", " : "";
      write(list[i]);
    }
    text_ += "}";
  }
  /// Writes the options that differ from the defaults, and the name.
  template <class O>
  void options(const O& o) {
    const O usual{};
    text_ += "{";
    fields_of(o, [&](const char* name, auto O::*member) {
      using T = std::decay_t<decltype(o.*member)>;
      if constexpr (std::is_same_v<T, TensorRef>) {
        if (!(o.*member)) return;
      } else {
        if (cpp_text::text(o.*member) == cpp_text::text(usual.*member)) return;
      }
      text_ += std::string(".") + name + " = ";
      write(o.*member);
      text_ += ", ";
    });
    text_ += ".name = " + cpp_text::text(layer_name()) + "}";
  }
  const std::string& layer_name() const;
  LayerMaker& maker_;
  LayerCall call_;
  std::string text_;
  bool first_ = true;
};

class LayerMaker {
 public:
  /// Throws graph_duplicate_name where a layer has that name already.
  LayerMaker(const Network& n, std::string_view kind, const std::string& name);
  ~LayerMaker();
  LayerMaker(const LayerMaker&) = delete;
  LayerMaker& operator=(const LayerMaker&) = delete;

  Graph& graph() { return graph_; }
  const Network& network() const { return network_; }
  const std::string& name() const { return name_; }

  /// The call that this is, argument by argument, as C++ writes it: a family says so once, and its layers are
  /// printed in its words.
  template <class... A>
  void made_by(const char* method, const A&... arguments) {
    CallText text(*this, method);
    (text.argument(arguments), ...);
    call_ = std::make_shared<LayerCall>(text.take());
  }
  LayerCall& call() { return *call_; }

  /// Returns the value of a tensor that is given.
  ValueId use(const TensorRef& t);
  /// The same, but no_id for a tensor that is left out.
  ValueId use_if(const TensorRef& t) { return t ? use(t) : no_id; }
  DataType type(ValueId v) const { return graph_.value(v).type.elem; }
  /// Throws node_bad_shape if the rank is not known.
  const SymShape& shape(ValueId v) const;
  size_t rank(ValueId v) const { return shape(v).size(); }
  /// Returns the axis counted from the front; throws node_bad_attribute if there is none such.
  size_t axis(int64_t a, size_t rank) const;

  ValueId op(std::string op, std::vector<ValueId> inputs, Attributes a = {}) {
    return ops(std::move(op), std::move(inputs), 1, std::move(a))[0];
  }
  std::vector<ValueId> ops(std::string op, std::vector<ValueId> inputs, size_t outputs, Attributes a = {});
  /// Adds a node and infers its types; outputs without names get some.
  NodeId add(Node n);
  ValueId ints(std::vector<int64_t> v);     // int64 [n]
  ValueId integer(int64_t v);               // int64 []
  ValueId scalar(DataType type, double v);  // [], of that type
  ValueId constant(Tensor t);
  /// int64 [1]: the size of an axis, where it is known a constant.
  ValueId size(const Dim& d);
  /// int64 [n].
  ValueId sizes(const SymShape& s);
  ValueId size_of_axis(ValueId v, size_t axis) { return size_in(v, axis); }

  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const;
  /// Names the outputs, and marks several nodes as one layer.
  Layer finish(std::vector<ValueId> outputs);
  Layer finish(ValueId output) { return finish(std::vector<ValueId>{output}); }
  /// Makes a layer of one node, whose outputs may have names of their own.
  Layer finish_as_is(NodeId n, bool named);
  /// Gives an output a name other than the layer's.
  void call(ValueId v, const std::string& name);

 private:
  struct AtWork {
    explicit AtWork(NetworkState& s) : state(s) { ++state.makers; }
    ~AtWork() { --state.makers; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    NetworkState& state;
  };
  /// The calls that made layers of this graph.
  std::map<NodeId, std::shared_ptr<const LayerCall>>& calls();
  ValueId size_in(ValueId v, size_t axis);
  std::optional<ValueId> size_of_symbol(const std::string& symbol);
  const Network& network_;
  NetworkState& state_;
  AtWork at_work_{state_};
  Graph& graph_;
  std::string kind_, name_;
  size_t values_, node_count_, scopes_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> named_, constants_;
  std::shared_ptr<LayerCall> call_;
  bool done_ = false;
};

}  // namespace lathe
