#include "ops/image/image.h"

#include "schema/schema.h"

namespace lathe {

void declare_image(SchemaCatalog& c) {
  c.add("ImageDecoder")
      .version(20,
               "(encoded_stream: T1) -> (image: T2) {pixel_format: string = 'RGB'} [T1: uint8; T2: uint8]")
      .rule<ImageDecoder>()
      .tolerance({.exact = true});
}

}  // namespace lathe
