// Col2Im: adds up overlapping blocks, given as columns, to an image.
#pragma once

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"

namespace lathe {

struct Col2Im {
  std::vector<int64_t> dilations, pads, strides;  // empty: all 1, 0, 1
  void fields(auto&& f) {
    f("dilations", dilations);
    f("pads", pads);
    f("strides", strides);
  }
  int64_t dilation(size_t a) const { return dilations.empty() ? 1 : dilations[a]; }
  int64_t stride(size_t a) const { return strides.empty() ? 1 : strides[a]; }
  int64_t pad_begin(size_t a) const { return pads.empty() ? 0 : pads[a]; }
  int64_t pad_end(size_t a) const { return pads.empty() ? 0 : pads[pads.size() / 2 + a]; }
  /// The number of axes, if a list tells it.
  std::optional<int64_t> listed_axes() const {
    const size_t n = std::max({dilations.size(), strides.size(), pads.size() / 2});
    return n > 0 ? std::optional(static_cast<int64_t>(n)) : std::nullopt;
  }
  /// Lists as long as there are axes, of numbers that make sense; node_bad_attribute otherwise.
  void check(size_t axes) const {
    const auto list = [](const std::vector<int64_t>& v, size_t count, int64_t least, const char* name) {
      bool ok = v.empty() || v.size() == count;
      for (int64_t n : v) ok &= n >= least;
      if (!ok)
        throw Error(
            Code::node_bad_attribute, "infer",
            std::string(name) + " of " + std::to_string(count) + " numbers from " + std::to_string(least),
            describe(Shape(v)));
    };
    list(dilations, axes, 1, "dilations");
    list(pads, 2 * axes, 0, "pads");
    list(strides, axes, 1, "strides");
  }
  /// The number of blocks that fit along an axis.
  int64_t blocks(size_t a, int64_t image, int64_t block) const {
    const int64_t padded = plus(plus(image, pad_begin(a)), pad_end(a));
    const int64_t reach = plus(times(dilation(a), block - 1), 1);
    return padded < reach ? 0 : (padded - reach) / stride(a) + 1;
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (c.type(0) == DataType::string) c.fail(Code::node_bad_type, "elements with a sum", "strings", {});
    c.require(c.rank(0) == 3, "an input of rank 3", "rank " + std::to_string(c.rank(0)));
    auto axes = count_of_sizes(c, 1);
    c.require(c.rank(2) == 1, "a block_shape of rank 1", "rank " + std::to_string(c.rank(2)));
    c.same(c.shape(1)[0], c.shape(2)[0], "the number of sizes in image_shape and block_shape");
    if (!axes) axes = count_of_sizes(c, 2);
    if (!axes) axes = listed_axes();
    if (!axes) return;
    check(static_cast<size_t>(*axes));
    const auto* image = sizes_input(c, 1);
    c.require(!image || static_cast<int64_t>(image->size()) == *axes, "as many sizes of the image as axes",
              std::to_string(*axes));
    const auto block = c.numbers(2);
    std::vector<D> out{c.shape(0)[0]};
    int64_t area = 1;
    if (block)
      for (int64_t n : *block) {
        c.require(n >= 1, "a block_shape of sizes from 1", std::to_string(n));
        area = times(area, n);
      }
    const auto columns = known(c.shape(0)[1]);
    c.require(!block || !columns || *columns % area == 0,
              "columns that the block's " + std::to_string(area) + " elements divide",
              to_text(c.shape(0)[1]));
    const auto channels = block ? std::optional(floor_div(c.shape(0)[1], D(area))) : c.data_dependent();
    if (!channels) return;
    out.push_back(*channels);
    for (int64_t a = 0; a < *axes; ++a) {
      const auto d = image ? std::optional((*image)[static_cast<size_t>(a)]) : c.data_dependent();
      if (!d) return;
      out.push_back(*d);
    }
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
