// Binds the weights of checkpoints to the parameters of a tree.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "base/file.h"
#include "nn/access.h"
#include "nn/convert.h"

namespace lathe::nn {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;  // the module's name → the checkpoint's

Names names_of(const Checkpoint& checkpoint, const BindOptions& o) {
  Names names;
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    std::string name = t.name;
    for (const auto& [from, to] : o.rename)
      if (name.starts_with(from)) {
        name = to + name.substr(from.size());
        break;
      }
    names.try_emplace(std::move(name), t.name);
  }
  return names;
}

/// Returns `path` with the parts that have another name in the checkpoint.
std::string with_other_parts(std::string path, const BindOptions& o) {
  for (const auto& [from, to] : o.other_parts)
    for (size_t at = 0; (at = path.find(from, at)) != std::string::npos; at += to.size())
      path.replace(at, from.size(), to);
  return path;
}

}  // namespace

std::vector<std::string> detail::path_variants(const std::string& path, const BindOptions& o) {
  std::vector<std::string> list{path};
  const std::string& prefix = o.base_prefix;
  if (!prefix.empty()) {
    list.push_back(prefix + path);
    if (path.starts_with(prefix)) list.push_back(path.substr(prefix.size()));
  }
  if (!o.other_parts.empty())
    for (size_t i = 0, n = list.size(); i < n; ++i)
      if (std::string other = with_other_parts(list[i], o); other != list[i])
        list.push_back(std::move(other));
  // TensorFlow's names of a norm's parameters, which the first conversions of BERT kept.
  for (size_t i = 0, n = list.size(); i < n; ++i)
    for (const auto& [now, then] :
         {std::pair<std::string_view, std::string_view>{"weight", "gamma"}, {"bias", "beta"}})
      if (list[i] == now || list[i].ends_with("." + std::string(now))) {
        std::string old = list[i];
        old.replace(old.size() - now.size(), std::string::npos, then);
        list.push_back(std::move(old));
      }
  return list;
}

/// Elements are read only if two names are candidates for one parameter.
bool detail::same_elements(const Checkpoint& checkpoint, const std::string& a, const std::string& b) {
  const CheckpointTensor &first = checkpoint.at(a), &second = checkpoint.at(b);
  if (a == b) return true;
  if (first.type != second.type || !(first.shape == second.shape)) return false;
  const Tensor x = checkpoint.tensor(a), y = checkpoint.tensor(b);
  if (x.data() == y.data() || x.bytes() == 0) return true;
  const bool same = std::memcmp(x.data(), y.data(), x.bytes()) == 0;
  for (const Tensor* t : {&x, &y}) drop_mapped_pages(t->data(), t->bytes());
  return same;
}

namespace {

/// A parameter at its paths in a module. A tied one has several places with one slot.
struct Place {
  Parameter parameter;
  std::vector<std::string> paths = {};  // all names that the module has for it
  std::vector<std::string> found = {};  // matching names in the checkpoint, the likeliest first
};

class Places {
 public:
  explicit Places(Module& root) {
    std::map<std::pair<const Parameter*, const detail::Slot*>, size_t> seen;
    detail::visit(root, "",
                  {.parameter =
                       [&](const std::string& path, Parameter& p) {
                         const auto [at, fresh] =
                             seen.try_emplace(std::pair(&p, detail::Access::slot(p)), places_.size());
                         if (fresh) places_.push_back({p});
                         places_[at->second].paths.push_back(path);
                         turns_.push_back(at->second);
                       },
                   .module = {}});
  }
  void find_names(const Names& names, const BindOptions& o) {
    for (Place& place : places_)
      for (const std::string& path : place.paths)
        for (const std::string& variants : detail::path_variants(path, o))
          if (const auto at = names.find(variants);
              at != names.end() && std::ranges::find(place.found, at->second) == place.found.end())
            place.found.push_back(at->second);
  }
  /// Puts the parameters of these places into the module.
  void put_into(Module& root) const {
    size_t turn = 0;  // the same order as before
    detail::visit(root, "",
                  {.parameter =
                       [&](const std::string&, Parameter& p) {
                         const Parameter& own = places_[turns_[turn++]].parameter;
                         if (!(p == own)) p = own;
                       },
                   .module = {}});
  }
  auto begin() { return places_.begin(); }
  auto end() { return places_.end(); }
  auto begin() const { return places_.begin(); }
  auto end() const { return places_.end(); }

 private:
  std::vector<Place> places_;
  std::vector<size_t> turns_;
};

/// Unties parameters that a module ties if the checkpoint has different weights for each: then the
/// configuration is wrong. transformers 5 does the same. Returns the paths that were untied.
std::vector<std::string> part_what_differs(Places& places, const Checkpoint& checkpoint) {
  std::vector<std::string> untied;
  std::unordered_map<const detail::Slot*, std::vector<std::pair<std::string, Parameter>>> kinds;
  for (Place& place : places) {
    if (place.found.empty()) continue;
    auto& known = kinds[detail::Access::slot(place.parameter)];
    const std::string& name = place.found.front();
    const auto same = std::ranges::find_if(
        known, [&](const auto& kind) { return detail::same_elements(checkpoint, kind.first, name); });
    if (same != known.end()) {
      place.parameter = same->second;
      continue;
    }
    if (!known.empty()) {
      untied.push_back(place.paths.front());
      place.parameter = Parameter(place.parameter.type(), place.parameter.shape());
    }
    known.emplace_back(name, place.parameter);
  }
  return untied;
}

struct Found {
  NamedParameter wanted;
  std::string name;  // in the checkpoint
  Tensor tensor;
};

/// Returns every parameter once, with the first of its names in the checkpoint, empty if there is none.
std::vector<Found> found_in(const Places& places) {
  std::vector<Found> all;
  std::unordered_map<const detail::Slot*, size_t> seen;
  for (const Place& place : places) {
    const auto [at, fresh] = seen.try_emplace(detail::Access::slot(place.parameter), all.size());
    if (fresh) all.push_back({{place.paths.front(), place.parameter, {}}, {}, {}});
    Found& found = all[at->second];
    if (found.name.empty() && !place.found.empty()) found.name = place.found.front();
  }
  return all;
}

/// Returns the tensor in the parameter's type, converted if `convert` is set; throws if it does not fit.
Tensor fitting(const NamedParameter& p, Tensor t, bool convert, BindReport& report) {
  if (convert && t.type() != p.parameter.type() && is_float(t.type()) && is_float(p.parameter.type())) {
    if (!(t.shape() == p.parameter.shape()))  // before it is converted for nothing
      throw detail::fault(Code::tensor_bad_shape, p.name, lathe::describe(p.parameter.shape()),
                          lathe::describe(t));
    report.converted.push_back(p.name);
    return converted(t, p.parameter.type());
  }
  if (t.type() != p.parameter.type())
    throw detail::fault(Code::tensor_bad_type, p.name,
                        std::string(name_of(p.parameter.type())) + lathe::describe(p.parameter.shape()),
                        lathe::describe(t), "bind with convert, or call Module::to() before");
  if (!(t.shape() == p.parameter.shape()))
    throw detail::fault(Code::tensor_bad_shape, p.name,
                        std::string(name_of(p.parameter.type())) + lathe::describe(p.parameter.shape()),
                        lathe::describe(t), "the configuration is not that of the checkpoint");
  return t;
}

/// Lists at most 100 names.
std::string listed_in_part(const std::vector<std::string>& names) {
  constexpr size_t most = 100;
  if (names.size() <= most) return detail::listed(names);
  return detail::listed({names.begin(), names.begin() + most}) + " and " +
         std::to_string(names.size() - most) + " more";
}

[[noreturn]] void refuse_missing(const std::vector<std::string>& missing,
                                 const std::set<std::string>& unexpected) {
  const std::vector<std::string> others(unexpected.begin(), unexpected.end());
  std::string near;
  for (const std::string& path : missing) {
    if (others.size() > 100000 || missing.size() > 20)
      break;  // hints for so many names help nobody, and take long
    const std::string hint = detail::near(path, others);
    if (!hint.empty()) near += (near.empty() ? "" : "; ") + std::string("'") + path + "': " + hint;
  }
  throw detail::fault(Code::bad_argument, "", "a checkpoint with all parameters",
                      std::to_string(missing.size()) + " missing: " + listed_in_part(missing),
                      near.empty() ? "rename with BindOptions::rename, or allow_missing" : near);
}

/// Makes one parameter of those that are one tensor in the checkpoint.
void share_tied(Module& root, const Checkpoint& checkpoint, const std::vector<Found>& found) {
  std::unordered_map<std::string, size_t> group_of;
  const auto groups = checkpoint.tied();
  if (groups.empty()) return;
  for (size_t g = 0; g < groups.size(); ++g)
    for (const std::string& name : groups[g]) group_of[name] = g;
  std::map<size_t, Parameter> first;
  std::unordered_map<const detail::Slot*, Parameter> instead;
  for (const Found& f : found) {
    const auto group = group_of.find(f.name);
    if (group == group_of.end()) continue;
    const auto [at, fresh] = first.try_emplace(group->second, f.wanted.parameter);
    if (!fresh && at->second.type() == f.wanted.parameter.type())
      instead.try_emplace(detail::Access::slot(f.wanted.parameter), at->second);
  }
  detail::visit(root, "",
                {.parameter =
                     [&](const std::string&, Parameter& p) {
                       const auto at = instead.find(detail::Access::slot(p));
                       if (at != instead.end()) p = at->second;
                     },
                 .module = {}});
}

}  // namespace

BindReport Module::bind(const Checkpoint& checkpoint, const BindOptions& options) {
  BindReport report;
  Places places(*this);
  places.find_names(names_of(checkpoint, options), options);
  std::set<std::string> unexpected;
  for (const CheckpointTensor& t : checkpoint.tensors()) unexpected.insert(t.name);
  for (const Place& place : places)
    for (const std::string& name : place.found)
      if (detail::same_elements(checkpoint, place.found.front(), name)) unexpected.erase(name);

  report.untied = part_what_differs(places, checkpoint);
  std::vector<Found> found = found_in(places);
  for (const Found& f : found)
    if (f.name.empty()) report.missing.push_back(f.wanted.name);
  if (!report.missing.empty() && !options.allow_missing) refuse_missing(report.missing, unexpected);
  std::erase_if(found, [](const Found& f) { return f.name.empty(); });
  for (Found& f : found) f.tensor = fitting(f.wanted, checkpoint.tensor(f.name), options.convert, report);

  // All checks are done: nothing below fails.
  places.put_into(*this);
  for (Found& f : found) {
    detail::Slot& slot = *detail::Access::slot(f.wanted.parameter);
    slot.name = f.wanted.name;
    slot.tensor = std::move(f.tensor);
  }
  report.bound = found.size();
  share_tied(*this, checkpoint, found);
  report.unexpected.assign(unexpected.begin(), unexpected.end());
  return report;
}

void Module::to(DataType type) {
  if (!converts_to(type))
    throw detail::fault(Code::bad_argument, "", "float32, float16, bfloat16 or float64",
                        std::string(name_of(type)));
  for (const NamedParameter& p : named_parameters()) {
    detail::Slot& slot = *detail::Access::slot(p.parameter);
    if (!is_float(slot.type) || slot.type == type) continue;
    if (slot.tensor.defined()) slot.tensor = converted(slot.tensor, type);
    slot.type = type;
  }
}

}  // namespace lathe::nn
