// RoBERTa (Liu et al. 2019): BERT with other positions and heads.
#include "nn/models/bert.h"

namespace lathe::nn {

void register_roberta(ModelRegistry& all) { add_roberta(all, "roberta"); }

}  // namespace lathe::nn
