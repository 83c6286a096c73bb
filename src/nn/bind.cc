// Weights from checkpoints to the parameters of a tree.
#include <map>
#include <set>
#include <unordered_map>

#include "nn/access.h"
#include "nn/convert.h"

namespace lathe::nn {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;  // as the module sees it → in the checkpoint

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

/// What `path` may be called in a checkpoint, the likeliest first.
std::vector<std::string> spellings(const std::string& path, const std::string& prefix) {
  std::vector<std::string> list{path};
  if (!prefix.empty()) {
    list.push_back(prefix + path);
    if (path.starts_with(prefix)) list.push_back(path.substr(prefix.size()));
  }
  // TensorFlow's names of a norm's parameters, which the first conversions of BERT kept.
  for (size_t i = 0, n = list.size(); i < n; ++i)
    for (const auto& [now, then] : {std::pair{".weight", ".gamma"}, {".bias", ".beta"}})
      if (list[i].ends_with(now)) {
        std::string old = list[i];
        old.replace(old.size() - std::string_view(now).size(), std::string::npos, then);
        list.push_back(std::move(old));
      }
  return list;
}

struct Found {
  NamedParameter wanted;
  std::string name;  // in the checkpoint
  Tensor tensor;
};

/// The tensor as the parameter wants it.
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

[[noreturn]] void refuse_missing(const std::vector<std::string>& missing,
                                 const std::set<std::string>& unexpected) {
  const std::vector<std::string> others(unexpected.begin(), unexpected.end());
  std::string near;
  for (const std::string& path : missing) {
    if (others.size() > 100000 || missing.size() > 20)
      break;  // a list that long tells nothing, and takes long
    const std::string hint = detail::near(path, others);
    if (!hint.empty()) near += (near.empty() ? "" : "; ") + std::string("'") + path + "': " + hint;
  }
  throw detail::fault(Code::bad_argument, "", "a checkpoint with all parameters",
                      std::to_string(missing.size()) + " missing: " + detail::listed(missing),
                      near.empty() ? "rename with BindOptions::rename, or allow_missing" : near);
}

/// One parameter for those that the checkpoint says are one tensor.
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
  const Names names = names_of(checkpoint, options);
  BindReport report;
  std::vector<Found> found;
  std::set<std::string> unexpected;
  for (const CheckpointTensor& t : checkpoint.tensors()) unexpected.insert(t.name);
  for (const NamedParameter& p : named_parameters()) {
    std::vector<std::string> paths{p.name};
    paths.insert(paths.end(), p.aliases.begin(), p.aliases.end());
    std::string name;
    for (const std::string& path : paths)
      for (const std::string& spelling : spellings(path, options.base_prefix))
        if (const auto at = names.find(spelling); at != names.end()) {
          if (name.empty()) name = at->second;
          unexpected.erase(at->second);
        }
    if (name.empty())
      report.missing.push_back(p.name);
    else
      found.push_back({p, name, {}});
  }
  if (!report.missing.empty() && !options.allow_missing) refuse_missing(report.missing, unexpected);
  for (Found& f : found) f.tensor = fitting(f.wanted, checkpoint.tensor(f.name), options.convert, report);
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
