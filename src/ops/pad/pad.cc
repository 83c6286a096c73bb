#include "ops/pad/pad.h"

#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

void pad_2_from_1(UpgradeContext& u) { u.node().attributes.rename("paddings", "pads"); }

void pad_11_from_2(UpgradeContext& u) {
  ints_to_input(u, "pads", 1);
  const auto value = u.node().attributes.get<float>("value", 0);
  u.node().attributes.erase("value");
  if (value == 0) return;
  const DataType type = u.input_type(0).elem;
  Tensor t(type == DataType::undefined ? DataType::float32 : type, {});
  store_double(t, 0, value);
  set_input(u, 2, u.add_constant(std::move(t), "value"));
}

}  // namespace

void declare_pad(SchemaCatalog& c) {
  c.add("Pad")
      .version(1,
               "(data: T) -> (output: T) {value: float = 0, mode: string = 'constant', paddings: ints!} [T: "
               "@float]")
      .version(
          2,
          "(data: T) -> (output: T) {value: float = 0, mode: string = 'constant', pads: ints!} [T: @float]",
          pad_2_from_1)
      .version(11,
               "(data: T, pads: int64, constant_value?: T) -> (output: T) {mode: string = 'constant'} [T: "
               "@number]",
               pad_11_from_2)
      .version(13,
               "(data: T, pads: int64, constant_value?: T) -> (output: T) {mode: string = 'constant'} [T: "
               "@all_13]")
      .version(18,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_13; Tind: @index]")
      .version(19,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_13; Tind: @index]")
      .version(21,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir10; Tind: @index]")
      .version(23,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir11; Tind: @index]")
      .version(24,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir12; Tind: @index]")
      .version(25,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir13; Tind: @index]")
      .rule<Pad>()
      .contract({.exact = true});
}

}  // namespace lathe
