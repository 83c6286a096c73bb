// mBART (Liu et al. 2020): BART that norms before attention and MLP.
#include "nn/models/bart.h"

namespace lathe::nn {

void register_mbart(ModelRegistry& all) { add_bart_family(all, "mbart", true); }

}  // namespace lathe::nn
