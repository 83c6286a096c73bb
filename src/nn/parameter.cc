#include "nn/access.h"

namespace lathe::nn {

using detail::fault;

ParameterValue& ParameterValue::operator=(const Tensor& t) {
  if (!slot_)
    throw fault(Code::bad_argument, "", "a parameter of the module", "one that it was made without",
                "ask for it in the module's options (bias = true)");
  const std::string& name = slot_->name;
  const std::string wanted = std::string(name_of(slot_->type)) + lathe::describe(slot_->shape);
  const std::string got = t.defined() ? lathe::describe(t) : "no tensor";
  if (t.type() != slot_->type)
    throw fault(Code::tensor_bad_type, name, wanted, got, "convert it, or call Module::to() before");
  if (!(t.shape() == slot_->shape)) throw fault(Code::tensor_bad_shape, name, wanted, got);
  slot_->tensor = t;
  return *this;
}

ParameterValue& ParameterValue::operator=(const ParameterValue& other) { return *this = other.tensor(); }

const Tensor& ParameterValue::tensor() const {
  if (!slot_ || !slot_->tensor.defined())
    throw fault(Code::bad_argument, slot_ ? slot_->name : "", "weights", "a parameter without any",
                "assign .value, or call Module::bind()");
  return slot_->tensor;
}

void ParameterValue::reset() {
  if (slot_) slot_->tensor = Tensor();
}

Parameter::Parameter(DataType type, Shape shape) {
  checked_count(shape, type, "a parameter's shape");
  value.slot_ = std::make_shared<detail::Slot>();
  value.slot_->type = type;
  value.slot_->shape = std::move(shape);
}

namespace {

detail::Slot& existing(detail::Slot* slot) {
  if (!slot) throw fault(Code::bad_argument, "", "a parameter of the module", "one that it was made without");
  return *slot;
}

}  // namespace

DataType Parameter::type() const { return existing(detail::Access::slot(*this)).type; }

void Parameter::set_type(DataType type) {
  detail::Slot& slot = existing(detail::Access::slot(*this));
  if (slot.tensor.defined() && slot.tensor.type() != type) slot.tensor = Tensor();
  slot.type = type;
}

const Shape& Parameter::shape() const { return existing(detail::Access::slot(*this)).shape; }

bool Parameter::bound() const {
  const detail::Slot* slot = detail::Access::slot(*this);
  return slot && slot->tensor.defined();
}

const std::string& Parameter::name() const { return existing(detail::Access::slot(*this)).name; }

}  // namespace lathe::nn
