// A pickle machine that knows what tensors need and nothing else. It executes nothing: a global is a name, a
// call of a known name is a record of its arguments, and every other name is refused.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// An object of the pickled graph: objects are shared, and may contain themselves.
struct PickleObject {
  enum class Kind : uint8_t {
    other,  // None, floats, bytes, integers beyond 64 bits, an object's ignored state
    boolean,
    integer,
    text,
    list,     // also sets of arguments: tuples, torch.Size
    dict,     // items: key, value, key, value, …; also OrderedDict
    global,   // text: "module name"
    storage,  // items: the tuple that is its persistent id
    call      // text: the global; items: the tuple of arguments
  };
  Kind kind = Kind::other;
  int64_t integer = 0;
  std::string_view text = {};  // into the pickle
  std::vector<PickleObject*> items = {};
};

/// The graph, all of it owned here: no destructor walks it.
struct Pickle {
  std::deque<PickleObject> objects;
  std::deque<std::string> texts;  // names that do not stand in the pickle as a whole
  PickleObject* root = nullptr;
};

/// `allowed` says which globals may be named. The result points into `bytes`. Throws wire_malformed,
/// wire_too_large, wire_bad_utf8, and not_supported for a global that is not allowed (naming it) and for
/// instructions that tensors do not need.
Pickle read_pickle(std::string_view bytes, const std::filesystem::path& file,
                   bool (*allowed)(std::string_view));

}  // namespace lathe
