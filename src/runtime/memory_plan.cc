#include "runtime/memory_plan.h"

#include <algorithm>

#include "kernel/facts.h"
#include "runtime/arena.h"
#include "runtime/memory.h"
#include "runtime/nesting.h"
#include "tensor/contents_fit.h"

namespace lathe {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(const Program& program, size_t graph, const ShapeKey& key, bool without_reuse)
      : program_(program),
        graph_(program.graph(graph)),
        without_reuse_(without_reuse),
        bounds_(!key.empty() && key.back() == rounded_lengths),
        nesting_(graph_.plan->values.size()),
        blocks_(graph_.plan->values.size()),
        arenas_(program.spaces()) {
    made_.key = key;
    made_.slots.resize(graph_.plan->values.size());
    made_.in_place.resize(graph_.steps.size());
    facts_.resize(graph_.plan->values.size());
    if (bounds_) program.growth().read(key, sizes_);
  }

  MemoryPlan run() {
    enter();
    for_each_step([&](size_t i) {
      infer(graph_.steps[i]);
      for (int32_t v : graph_.steps[i].plan->outputs)
        if (v >= 0) describe(static_cast<uint32_t>(v));
    });
    if (const int threads = program_.pool().threads(); threads > 1 && !without_reuse_)
      made_.branches = find_branches(graph_, made_.slots, threads);
    measure();
    // The values that contain others are placed before those within them.
    for (size_t i = graph_.steps.size(); !without_reuse_ && i-- > 0;) nest(i);
    for (uint32_t v = 0; v < made_.slots.size(); ++v)
      if (made_.slots[v].place == Slot::Place::arena) in_arena_.push_back(v);
    place_closely();
    place_outputs();
    find_stable_addresses();
    find_done();
    find_bound();
    for (const ArenaPlanner& a : arenas_) made_.arena.push_back(a.size());
    return std::move(made_);
  }

 private:
  template <class F>
  void for_each_step(F&& f) {
    for (size_t i = 0; i < graph_.steps.size(); ++i) {
      try {
        f(i);
      } catch (const Error& e) {
        throw e.at("run", graph_.steps[i].plan->node, graph_.steps[i].plan->op);
      }
    }
  }

  /// Enters inputs, captured values and constants: shapes as in the key, contents of constants only.
  void enter() {
    size_t at = 0;
    const auto read = [&](uint32_t v) {
      Fact<int64_t>& f = facts_[v];
      const PlanType& type = graph_.plan->values[v].type;
      const int64_t rank = made_.key[at++];
      f.present = true;
      if (rank < 0) return;
      if (type.kind != PlanType::Kind::tensor) {  // an optional that happens to hold a tensor
        at += static_cast<size_t>(rank);
        return;
      }
      f.type = type.elem;
      f.ranked = true;
      f.shape.assign(made_.key.begin() + static_cast<ptrdiff_t>(at),
                     made_.key.begin() + static_cast<ptrdiff_t>(at) + rank);
      at += static_cast<size_t>(rank);
      Slot& slot = made_.slots[v];
      slot.known = !bounds_ || !program_.growth().varies(v);
      slot.type = type.elem;
      slot.shape = Shape(f.shape.begin(), f.shape.end());
    };
    for (uint32_t v : graph_.plan->inputs) read(v);
    for (uint32_t v : graph_.captured) read(v);
    for (uint32_t v = 0; v < facts_.size(); ++v) {
      if (!graph_.constants[v]) continue;
      describe_value(*graph_.constants[v], facts_[v], graph_.plan->values[v].memory == host_memory);
      const Tensor& t = graph_.constants[v]->tensor();
      made_.slots[v].known = true;
      made_.slots[v].type = t.type();
      made_.slots[v].shape = t.shape();
    }
  }

  void infer(const ProgramStep& s) {
    const std::vector<int32_t>&in = s.plan->inputs, &out = s.plan->outputs;
    if (!s.kernel) {
      facts_[static_cast<size_t>(out[0])] = facts_[static_cast<size_t>(in[0])];
      return;
    }
    std::vector<Fact<int64_t>> inputs(in.size()), outputs(out.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] < 0) continue;
      inputs[i] = facts_[static_cast<size_t>(in[i])];
      if (!inputs[i].ranked && is_tensor(in[i])) return;  // only the run knows
    }
    for (size_t i = 0; i < out.size(); ++i) {
      outputs[i].present = out[i] >= 0;
      if (out[i] >= 0) outputs[i].type = graph_.plan->values[static_cast<size_t>(out[i])].type.own_elem();
    }
    ShapeContext<int64_t> c(inputs, outputs);
    s.codec->shape(s.op.get(), c);
    for (size_t i = 0; i < out.size(); ++i) {
      Fact<int64_t>& made = outputs[i];
      made.valued = made.valued && (!made.ranked || contents_fit(made.shape, made.values.size()));
      if (out[i] >= 0) facts_[static_cast<size_t>(out[i])] = std::move(made);
    }
  }

  /// Sets shape and kind of place of a step's output.
  void describe(uint32_t v) {
    const PlanValue& value = graph_.plan->values[v];
    const Fact<int64_t>& f = facts_[v];
    Slot& slot = made_.slots[v];
    slot.type = value.type.elem;
    slot.home = graph_.root[v];
    // The memory of a state is there whatever its new shape is.
    const bool is_state = !graph_.state.empty() && graph_.state[v] >= 0;
    slot.place = is_state ? Slot::Place::state : graph_.root[v] != v ? Slot::Place::alias : Slot::Place::run;
    if (!f.ranked || !is_tensor(static_cast<int32_t>(v)) || bits_of(slot.type) == 0) return;
    checked_count(f.shape, slot.type, value.name);
    slot.known = !bounds_ || !program_.growth().varies(v);
    slot.shape = Shape(f.shape.begin(), f.shape.end());
    slot.follows = !slot.known && follows(value, slot.shape);
    if (slot.place == Slot::Place::run)
      slot.place = graph_.output[v] >= 0 ? Slot::Place::output : Slot::Place::arena;
  }

  /// Returns whether the plan's expressions for a shape give what the shape rule found.
  bool follows(const PlanValue& value, const Shape& shape) const {
    return value.type.shape && std::ranges::equal(*value.type.shape, shape, [&](const Dim& d, int64_t size) {
             return program_.growth().evaluate(d, sizes_.now) == size;
           });
  }

  // Subviews.

  /// Places the subviews of a step within the whole; those that cannot be there are copied.
  void nest(size_t step) {
    const ProgramStep& s = graph_.steps[step];
    if (s.kernel && s.kernel->alias >= 0) return make_in_output(s);
    if (!s.kernel || s.kernel->subviews_of == SubviewsOf::none) return;
    const bool joins = s.kernel->subviews_of == SubviewsOf::output;
    const std::vector<int32_t>& subviews = joins ? s.plan->inputs : s.plan->outputs;
    const std::vector<int32_t>& wholes = joins ? s.plan->outputs : s.plan->inputs;
    if (wholes.empty() || wholes[0] < 0) return;
    const auto whole = static_cast<uint32_t>(wholes[0]);
    const auto found = subviews_of(s);
    if (!found || !fit(subviews, whole, *found)) return;
    if (!joins || !lay_over(whole, subviews, *found))
      for (size_t i = 0; i < found->size(); ++i) put(subviews[i], whole, (*found)[i]);
    const Nesting::Place at = place_of(whole);
    for (size_t i = 0; i < found->size(); ++i)
      made_.in_place[step].push_back(subviews[i] >= 0 &&
                                     place_of(static_cast<uint32_t>(subviews[i])) ==
                                         Nesting::Place{at.block, at.offset + (*found)[i]});
  }

  /// If a step only reshapes its input into an output of the graph, the input is made in the output's memory.
  void make_in_output(const ProgramStep& s) {
    const int32_t out = s.plan->outputs[0];
    if (out < 0 || made_.slots[static_cast<size_t>(out)].place != Slot::Place::output) return;
    const int32_t in = s.plan->inputs[static_cast<size_t>(s.kernel->alias)];
    if (in >= 0 &&
        made_.slots[static_cast<size_t>(in)].bytes() == made_.slots[static_cast<size_t>(out)].bytes())
      put(in, static_cast<uint32_t>(out), 0);
  }

  std::optional<SubviewOffsets> subviews_of(const ProgramStep& s) const {
    std::vector<Fact<int64_t>> inputs, outputs;
    const auto take = [&](const std::vector<int32_t>& values, std::vector<Fact<int64_t>>& facts) {
      return std::ranges::all_of(values, [&](int32_t v) {
        facts.push_back(v < 0 ? Fact<int64_t>() : facts_[static_cast<size_t>(v)]);
        return v < 0 || made_.slots[static_cast<size_t>(v)].known;
      });
    };
    if (!take(s.plan->inputs, inputs) || !take(s.plan->outputs, outputs)) return std::nullopt;
    return s.kernel->subviews(s.kernel_op.get(), {inputs, outputs});
  }

  /// Checks a kernel's offsets: returns whether the first operands are within the whole, one behind the
  /// other.
  bool fit(const std::vector<int32_t>& subviews, uint32_t whole, const SubviewOffsets& offsets) const {
    if (offsets.empty() || offsets.size() > subviews.size()) return false;
    size_t end = 0;
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (subviews[i] < 0) continue;
      if (offsets[i] < end) return false;
      end = offsets[i] + made_.slots[static_cast<size_t>(subviews[i])].bytes();
    }
    return end <= made_.slots[whole].bytes();
  }

  /// Places a Concat whose inputs are side by side already over them: of DenseNet's, which each begin as the
  /// one before does, only the last has memory of its own.
  bool lay_over(uint32_t whole, const std::vector<int32_t>& subviews, const SubviewOffsets& offsets) {
    if (!can_move(whole) || subviews[0] < 0 || subviews.size() != offsets.size()) return false;
    const Nesting::Place first = place_of(static_cast<uint32_t>(subviews[0]));
    for (size_t i = 1; i < subviews.size(); ++i)
      if (subviews[i] < 0 || place_of(static_cast<uint32_t>(subviews[i])) !=
                                 Nesting::Place{first.block, first.offset + offsets[i]})
        return false;
    const Slot::Place block = made_.slots[first.block].place;
    if (first.block == whole || (block != Slot::Place::arena && block != Slot::Place::output)) return false;
    nesting_.put(whole, first.block, first.offset);
    return true;
  }

  /// Kernels expect tensors to begin at whole cache lines, so parts that do not are copied. So are those of a
  /// state, whose memory holds the old value until a step makes the new one, and the new one from then on.
  void put(int32_t part, uint32_t whole, size_t offset) {
    if (part < 0 || offset % memory_alignment != 0) return;
    if (graph_.plan->values[graph_.root[whole]].state >= 0) return;
    const uint32_t root = graph_.root[static_cast<size_t>(part)];
    const Slot& slot = made_.slots[root];
    const bool all_of_it = slot.known && slot.bytes() == made_.slots[static_cast<size_t>(part)].bytes();
    const uint32_t around = graph_.root[whole];
    if (!all_of_it || !can_move(root) || !made_.slots[around].known ||
        graph_.plan->values[around].memory != host_memory || nesting_.find(around).block == root)
      return;
    nesting_.put(root, around, offset);
  }
  /// Returns whether `v` has memory of its own in the host's arena, so that it can be placed elsewhere.
  bool can_move(uint32_t v) const {
    return made_.slots[v].place == Slot::Place::arena && nesting_.is_block(v) &&
           graph_.plan->values[v].memory == host_memory;
  }
  Nesting::Place place_of(uint32_t v) const { return nesting_.find(graph_.root[v]); }

  // Lifetimes.

  /// Overwriting inputs changes which values fit where and may leave larger holes than it fills, so values
  /// are placed with and without it, and the smaller arena is used.
  void place_closely() {
    if (without_reuse_) return place_all(false);
    place_all(true);
    if (!overwrote_) return;
    struct At {
      Slot::Place place;
      uint32_t home;
      size_t offset;
    };
    std::vector<At> slots;
    for (uint32_t v : in_arena_) {
      const Slot& slot = made_.slots[v];
      slots.push_back({slot.place, slot.home, slot.offset});
    }
    std::vector<ArenaPlanner> arenas = arenas_;
    place_all(false);
    if (bytes_of(arenas_) < bytes_of(arenas)) return;
    arenas_ = std::move(arenas);
    for (size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = made_.slots[in_arena_[i]];
      slot.place = slots[i].place;
      slot.home = slots[i].home;
      slot.offset = slots[i].offset;
    }
  }
  static size_t bytes_of(const std::vector<ArenaPlanner>& arenas) {
    size_t bytes = 0;
    for (const ArenaPlanner& a : arenas) bytes += a.size();
    return bytes;
  }

  void place_all(bool overwriting) {
    arenas_.assign(arenas_.size(), {});
    blocks_.assign(blocks_.size(), {});
    for (uint32_t v : in_arena_) {
      made_.slots[v].place = Slot::Place::arena;
      ++blocks_[nesting_.find(v).block].users;
    }
    // Steps that run side by side share no memory: none writes over what another may still read, and what
    // ends with one of them ends with them all.
    for_each_step([&](size_t i) {
      const Branches* const together = branches_at(i);
      if (overwriting && !together) overwrite(graph_.steps[i]);
      place(graph_.steps[i]);
      if (!together) return end(graph_.steps[i]);
      if (i + 1 < together->end) return;
      for (size_t step = together->first; step < together->end; ++step) end(graph_.steps[step]);
    });
    finalize_offsets();
  }

  void place(const ProgramStep& s) {
    for (int32_t v : s.plan->outputs)
      if (v >= 0 && graph_.root[static_cast<size_t>(v)] == static_cast<uint32_t>(v))
        place(static_cast<uint32_t>(v));
  }
  void end(const ProgramStep& s) {
    for (uint32_t v : s.ends) end(v);
  }

  void place(uint32_t v) {
    Slot& slot = made_.slots[v];
    if (slot.place != Slot::Place::arena) return;
    const Nesting::Place at = nesting_.find(v);
    slot.offset = at.offset;
    slot.home = at.block;
    if (const Slot& home = made_.slots[at.block]; home.place != Slot::Place::arena) {
      slot.place = home.place == Slot::Place::output ? Slot::Place::output : Slot::Place::alias;
      return;
    }
    Block& block = blocks_[at.block];
    if (!block.taken) block.arena_id = arenas_[space_of(v)].take(bytes_of(at.block));
    block.taken = true;
  }
  /// Packs the arenas and sets the offsets of values in them.
  void finalize_offsets() {
    for (ArenaPlanner& a : arenas_) a.pack();
    for (uint32_t v : in_arena_) {
      Slot& slot = made_.slots[v];
      if (slot.place == Slot::Place::arena && blocks_[slot.home].taken)
        slot.offset += arenas_[space_of(slot.home)].offset(blocks_[slot.home].arena_id);
    }
  }

  void end(uint32_t v) {
    if (made_.slots[v].place != Slot::Place::arena) return;
    const uint32_t b = nesting_.find(v).block;
    if (--blocks_[b].users == 0 && !blocks_[b].handed_on) arenas_[space_of(b)].give(blocks_[b].arena_id);
  }

  /// Gives the first output the memory of an operand that nobody needs after this step, where the kernel can
  /// write over it.
  void overwrite(const ProgramStep& s) {
    if (!s.kernel || s.plan->outputs.size() != 1 || s.plan->outputs[0] < 0) return;
    const auto out = static_cast<uint32_t>(s.plan->outputs[0]);
    if (made_.slots[out].place != Slot::Place::arena) return;
    if (s.kernel->overwrites)
      for (int32_t v : s.plan->inputs) overwrite(s, v, out);
    else if (const auto added = added_over(s))
      overwrite(s, *added, out);
  }
  void overwrite(const ProgramStep& s, int32_t v, uint32_t out) {
    Block& to = blocks_[nesting_.find(out).block];
    if (v < 0 || to.taken || !can_overwrite(s, static_cast<uint32_t>(v), out)) return;
    Block& from = blocks_[place_of(static_cast<uint32_t>(v)).block];
    to.arena_id = from.arena_id;
    to.taken = from.handed_on = overwrote_ = true;
  }
  /// The operand of its epilogue that a kernel may write over.
  std::optional<int32_t> added_over(const ProgramStep& s) const {
    if (!s.epilogue || !s.kernel->adds_over) return std::nullopt;
    const PlanEpilogue& epilogue = *s.plan->epilogue;
    const std::optional<uint16_t> added = epilogue.program.first_added();
    if (!added) return std::nullopt;
    const auto inputs = input_shapes(s);
    if (!inputs || !s.kernel->adds_over(s.kernel_op.get(), *inputs)) return std::nullopt;
    return epilogue.operands[*added - 1u];
  }
  bool can_overwrite(const ProgramStep& s, uint32_t in, uint32_t out) const {
    const Nesting::Place from = place_of(in), to = nesting_.find(out);
    const Slot &slot = made_.slots[in], &result = made_.slots[out];
    if (made_.slots[from.block].place != Slot::Place::arena || slot.type != result.type ||
        slot.shape != result.shape || !slot.known || !result.known || from.offset != to.offset ||
        bytes_of(from.block) != bytes_of(to.block) || space_of(from.block) != space_of(to.block))
      return false;
    const auto ends = std::ranges::count_if(s.ends, [&](uint32_t v) {
      return made_.slots[v].place == Slot::Place::arena && nesting_.find(v).block == from.block;
    });
    return static_cast<size_t>(ends) == blocks_[from.block].users && reads_alike(s, in);
  }
  /// Returns whether everything else that a step reads of this operand's memory is the same elements in the
  /// same places, read by a kernel that goes through all of its inputs alike.
  bool reads_alike(const ProgramStep& s, uint32_t in) const {
    const Nesting::Place at = place_of(in);
    const auto apart = [&](int32_t v) {
      return v < 0 || place_of(static_cast<uint32_t>(v)).block != at.block;
    };
    const auto alike = [&](int32_t v) {
      return apart(v) || (s.kernel->overwrites && place_of(static_cast<uint32_t>(v)) == at &&
                          made_.slots[static_cast<size_t>(v)].shape == made_.slots[in].shape);
    };
    return s.plan->bodies.empty() && std::ranges::all_of(s.plan->inputs, alike) &&
           (!s.plan->epilogue || std::ranges::all_of(s.plan->epilogue->operands, [&](int32_t v) {
             return apart(v) || (!s.kernel->overwrites && v == static_cast<int32_t>(in));
           }));
  }

  MemorySpace space_of(uint32_t v) const { return graph_.plan->values[v].memory; }
  size_t bytes_of(uint32_t block) const { return aligned_size(made_.slots[block].bytes()); }

  // Workspaces.

  void measure() {
    for_each_step([&](size_t i) {
      const ProgramStep& s = graph_.steps[i];
      made_.scratch = std::max(made_.scratch, scratch_of(s));
      if (s.memory != host_memory) {
        const size_t bytes = workspace_of(s, program_.pool().threads());
        if (bytes == 0) return;
        made_.device_workspace.resize(program_.spaces());
        made_.device_workspace[s.memory] = std::max(made_.device_workspace[s.memory], bytes);
      } else if (!branches_at(i))
        made_.workspace = std::max(made_.workspace, workspace_of(graph_.steps[i], program_.pool().threads()));
    });
    for (const Branches& b : made_.branches) {
      made_.lanes.resize(std::max(made_.lanes.size(), b.lanes.size()));
      for (size_t lane = 0; lane < b.lanes.size(); ++lane)
        for (uint32_t step : b.lanes[lane])
          made_.lanes[lane] = std::max(made_.lanes[lane], workspace_of(graph_.steps[step], 1));
    }
  }

  /// Returns the branches that a step is in; null: none.
  const Branches* branches_at(size_t step) const {
    const auto after = std::ranges::upper_bound(made_.branches, step, {}, &Branches::first);
    return after != made_.branches.begin() && step < std::prev(after)->end ? &*std::prev(after) : nullptr;
  }

  /// Returns the bytes of workspace; 0 if only the run knows the input shapes.
  size_t workspace_of(const ProgramStep& s, int threads) const {
    if (!s.kernel || !s.kernel->workspace) return 0;
    const auto shapes = input_shapes(s);
    return shapes ? aligned_size(s.kernel->workspace(s.kernel_op.get(), *shapes, threads)) : 0;
  }
  /// Returns the shapes of all inputs; nothing if only the run knows one of them.
  std::optional<std::vector<Shape>> input_shapes(const ProgramStep& s) const {
    std::vector<Shape> shapes(s.plan->inputs.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int32_t v = s.plan->inputs[i];
      if (v < 0) continue;
      const Fact<int64_t>& f = facts_[static_cast<size_t>(v)];
      if (!f.ranked) return std::nullopt;
      shapes[i] = Shape(f.shape.begin(), f.shape.end());
    }
    return shapes;
  }

  /// Returns the bytes of scratch memory; 0 if the kernel does not declare it, or only the run knows it.
  size_t scratch_of(const ProgramStep& s) const {
    if (!s.kernel || !s.kernel->scratch || !made_.knows_operands(s)) return 0;
    std::vector<Shape> shapes;
    for (const std::vector<int32_t>* operands : {&s.plan->inputs, &s.plan->outputs})
      for (int32_t v : *operands)
        shapes.push_back(v < 0 ? Shape() : made_.slots[static_cast<size_t>(v)].shape);
    const std::span<const Shape> all(shapes);
    const size_t inputs = s.plan->inputs.size();
    return aligned_size(
        s.kernel->scratch(s.kernel_op.get(), all.first(inputs), all.subspan(inputs)).value_or(0));
  }

  // Outputs follow one another. A body's inputs that are outputs too are copied, since its caller reads them
  // after the input's memory has been released.
  void place_outputs() {
    const std::vector<uint32_t>& outputs = graph_.plan->outputs;
    made_.outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Slot& slot = made_.slots[outputs[i]];
      const ValueRole role = graph_.plan->values[outputs[i]].role;
      const bool first = graph_.output[outputs[i]] == static_cast<int32_t>(i);
      const bool made_here = slot.place == Slot::Place::output && first;
      const bool passes =
          graph_.is_body && first && role == ValueRole::input && slot.known && bits_of(slot.type) > 0;
      if (!made_here && !passes) continue;
      made_.outputs[i] = {made_.output_bytes, aligned_size(slot.bytes())};
      made_.output_bytes += made_.outputs[i].bytes;
    }
  }

  /// Marks the values that keep their address from run to run.
  void find_stable_addresses() {
    const auto in_arena = [&](uint32_t v) { return made_.slots[v].place == Slot::Place::arena; };
    for (uint32_t v = 0; v < made_.slots.size(); ++v) {
      Slot& slot = made_.slots[v];
      const bool in_other =
          slot.place == Slot::Place::alias && (graph_.constants[slot.home] || in_arena(slot.home));
      slot.stable_address = slot.known && (in_arena(v) || in_other);
      made_.decided_by_runs |= slot.place == Slot::Place::run;
    }
  }

  /// Marks steps that only give memory of the arena another shape: once bound, they have nothing to do.
  void find_done() {
    for (size_t i = 0; i < graph_.steps.size(); ++i) {
      const ProgramStep& s = graph_.steps[i];
      made_.done.push_back(s.kernel && s.kernel->alias >= 0 && !s.epilogue && stays_in_place(s));
    }
  }
  bool stays_in_place(const ProgramStep& s) const {
    const int32_t in = s.plan->inputs[static_cast<size_t>(s.kernel->alias)], out = s.plan->outputs[0];
    if (in < 0 || out < 0) return false;
    const Slot &from = made_.slots[static_cast<size_t>(in)], &to = made_.slots[static_cast<size_t>(out)];
    return to.place == Slot::Place::alias && to.stable_address && to.offset == 0 &&
           to.home == graph_.root[static_cast<size_t>(in)] && from.known && from.bytes() == to.bytes();
  }
  /// Marks steps whose operands need not be bound again in the next run.
  void find_bound() {
    const auto keeps = [&](int32_t v) {
      const auto i = static_cast<size_t>(v);
      return v < 0 || graph_.constants[i] || made_.slots[i].stable_address;
    };
    for (const ProgramStep& s : graph_.steps)
      made_.stays_bound.push_back(s.kernel && std::ranges::all_of(s.plan->outputs, keeps) &&
                                  (!s.epilogue || std::ranges::all_of(s.plan->epilogue->operands, keeps)));
  }

  bool is_tensor(int32_t v) const { return graph_.plan->values[static_cast<size_t>(v)].type.is_tensor(); }

  const Program& program_;
  const ProgramGraph& graph_;
  const bool without_reuse_;
  const bool bounds_;  // the key has bounds of the sizes
  Growth::Sizes sizes_;
  MemoryPlan made_;
  std::vector<Fact<int64_t>> facts_;
  Nesting nesting_;
  /// Memory in an arena, used from the first of its values until none of them is needed.
  struct Block {
    ArenaPlanner::Id arena_id = 0;
    size_t users = 0;  // values that are still to end
    bool taken = false;
    bool handed_on = false;  // to another block, which was written over it
  };
  std::vector<Block> blocks_;       // by value
  std::vector<uint32_t> in_arena_;  // values that need memory there, unless they lie in others'
  bool overwrote_ = false;
  std::vector<ArenaPlanner> arenas_;
};

}  // namespace

bool MemoryPlan::knows_operands(const ProgramStep& s) const {
  const auto known = [&](int32_t v) { return v < 0 || slots[static_cast<size_t>(v)].known; };
  return std::ranges::all_of(s.plan->inputs, known) && std::ranges::all_of(s.plan->outputs, known);
}

size_t MemoryPlan::records() const {
  size_t bytes = sizeof(MemoryPlan) + key.size() * sizeof(int64_t) + slots.size() * sizeof(Slot) +
                 outputs.size() * sizeof(OutputSlot) +
                 (arena.size() + lanes.size() + device_workspace.size()) * sizeof(size_t) +
                 in_place.size() * sizeof(in_place[0]) + done.size() / 8 + stays_bound.size();
  for (const Branches& b : branches)
    for (const std::vector<uint32_t>& lane : b.lanes) bytes += lane.size() * sizeof(lane[0]);
  return bytes;
}

bool MemoryPlan::place_as(const MemoryPlan& greater) {
  const auto fits = [&](size_t v) {
    const Slot &mine = slots[v], &its = greater.slots[v];
    return mine.place != Slot::Place::arena ||
           (its.place == Slot::Place::arena && mine.bytes() <= its.bytes());
  };
  for (size_t v = 0; v < slots.size(); ++v)
    if (!fits(v)) return false;
  for (size_t v = 0; v < slots.size(); ++v)
    if (slots[v].place == Slot::Place::arena) slots[v].offset = greater.slots[v].offset;
  arena = greater.arena;
  return true;
}

MemoryPlan plan_memory(const Program& program, size_t graph, const ShapeKey& key, bool without_reuse) {
  return MemoryPlanner(program, graph, key, without_reuse).run();
}

MemoryPlan plan_run(const Program& program, size_t graph, const ShapeKey& key, const ShapeKey& exact,
                    bool without_reuse) {
  if (key.empty() || key.back() != rounded_lengths) return plan_memory(program, graph, key, without_reuse);
  try {
    return plan_memory(program, graph, key, without_reuse);
  } catch (const Error&) {
    return plan_memory(program, graph, exact, without_reuse);
  }
}

std::string describe_memory(const ProgramGraph& graph, size_t step, const MemoryPlan& memory_plan) {
  if (const std::vector<bool>& in_place = memory_plan.in_place[step]; !in_place.empty()) {
    const auto copied = std::ranges::count(in_place, false);
    return copied == 0
               ? "copies nothing"
               : "copies " + std::to_string(copied) + " of " + std::to_string(in_place.size()) + " parts";
  }
  const ProgramStep& s = graph.steps[step];
  const bool over_inputs = s.kernel && s.kernel->overwrites,
             adds = s.kernel && s.kernel->adds_over && s.epilogue;
  if ((!over_inputs && !adds) || s.plan->outputs[0] < 0) return {};
  const auto in_arena_at = [&](int32_t v) -> std::optional<size_t> {
    const Slot& slot = memory_plan.slots[graph.root[static_cast<size_t>(v)]];
    return slot.place == Slot::Place::arena && slot.bytes() > 0 ? std::optional(slot.offset) : std::nullopt;
  };
  const auto at = in_arena_at(s.plan->outputs[0]);
  for (int32_t v : over_inputs ? s.plan->inputs : s.plan->epilogue->operands)
    if (at && v >= 0 && in_arena_at(v) == at)
      return "writes over " + graph.plan->values[static_cast<size_t>(v)].name;
  return {};
}

}  // namespace lathe
