// PyTorch's zip files: a pickle that says which tensors there are, and a member for each storage.
#pragma once

#include "io/stored_tensor.h"
#include "io/zip.h"

namespace lathe {

/// Tensors in whatever dictionaries, lists and tuples the pickle holds, named by the path that leads to them:
/// "state_dict.fc.weight". `pickle` is the member that ends in data.pkl; storages are beside it.
CheckpointContents read_pytorch(const std::shared_ptr<const FileBytes>& file,
                                const std::vector<ZipMember>& members, const ZipMember& pickle);

}  // namespace lathe
