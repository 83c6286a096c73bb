// The call that made a layer, kept with it, so that Network::cpp can write it again whatever happened to the
// network since.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "network/argument_text.h"

namespace lathe {

/// method(arguments) as text, with places for names that depend on where the call is written.
struct LayerCall {
  struct Piece {
    std::string text;        // and behind it …
    ValueId tensor = no_id;  // … a tensor, as the layer's nodes read it
    std::string body;        // … or what fills that body
  };
  struct Output {
    ValueId value;
    std::string name;
  };
  /// The declarations in the body of add_loop, in the order of the body's inputs and outputs.
  struct Loop {
    struct Iterator {
      int64_t axis;
      bool reverse;
    };
    struct Result {
      std::optional<size_t> recurrence;  // its last value; else stacked, in order
      LoopOutput kind;
      int64_t axis;
    };
    bool scan = false, condition = false;
    size_t recurrences = 0;
    std::vector<Iterator> iterators;  // of a Scan
    std::vector<Result> results;
  };
  std::string method;
  std::vector<Piece> pieces;
  bool of_loop = false;  // a call of the LoopBody, which cannot be given a name
  // The following are as they were when the layer was made, since edits change inputs of nodes and names.
  std::string name;
  std::vector<std::vector<ValueId>> inputs;  // node by node
  std::vector<Output> outputs;
  std::vector<ValueId> constants;  // that it made for itself
  std::optional<Loop> loop;
};

/// Replaces an argument that fills a body.
struct BodyOfCall {
  const char* name;
};

}  // namespace lathe
