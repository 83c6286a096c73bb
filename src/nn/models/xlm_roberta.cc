// XLM-RoBERTa (Conneau et al. 2019): RoBERTa with the words of a hundred languages.
#include "nn/models/bert.h"

namespace lathe::nn {

void register_xlm_roberta(ModelRegistry& all) { add_roberta(all, "xlm-roberta"); }

}  // namespace lathe::nn
