#include "ops/cases.h"

namespace lathe {

void cases_einsum(CaseTable& t) {
  t.add("Einsum", "product")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .attribute("equation", std::string("ij,jk->ik"))
      .expect<float>({2, 2}, {3, -2, 4, 3});
  t.add("Einsum", "implicit output")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .attribute("equation", std::string("ij,jk"))
      .expect<float>({2, 2}, {3, -2, 4, 3});
  t.add("Einsum", "implicit output sorts letters")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("equation", std::string("ba"))
      .expect<float>({3, 2}, {0, -2, 1, 2, -2, -1});
  t.add("Einsum", "trace")
      .input<float>({3, 3}, {3, 1, 3, 2, 3, -3, 0, 3, 2})
      .attribute("equation", std::string("ii"))
      .expect<float>({}, {8});
  t.add("Einsum", "diagonal")
      .input<float>({3, 3}, {3, 1, 3, 2, 3, -3, 0, 3, 2})
      .attribute("equation", std::string("ii->i"))
      .expect<float>({3}, {3, 3, 2});
  t.add("Einsum", "diagonal of batches")
      .input<float>({2, 3, 3}, {-2, 3, 3, -2, -3, 2, 3, 1, 1, 1, -2, 3, -2, -2, -3, -1, -1, 0})
      .attribute("equation", std::string("...ii->...i"))
      .expect<float>({2, 3}, {-2, -3, 1, 1, -2, 0});
  t.add("Einsum", "sum")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("equation", std::string("ij->i"))
      .expect<float>({2}, {-1, -1});
  t.add("Einsum", "sum of all")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("equation", std::string("ij->"))
      .expect<float>({}, {-2});
  t.add("Einsum", "transpose")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("equation", std::string("ij->ji"))
      .expect<float>({3, 2}, {0, -2, 1, 2, -2, -1});
  t.add("Einsum", "outer product")
      .input<float>({2}, {-3, 2})
      .input<float>({3}, {-1, -3, -2})
      .attribute("equation", std::string("i,j->ij"))
      .expect<float>({2, 3}, {3, 9, 6, -2, -6, -4});
  t.add("Einsum", "batches broadcast")
      .input<float>({2, 1, 2, 3}, {2, 1, 1, -3, 1, 3, 3, 0, 1, -3, 1, 2})
      .input<float>({3, 3, 2}, {-3, 2, 1, 2, -3, 1, 0, 0, 2, 3, 2, -2, 2, -3, 3, -1, 1, -2})
      .attribute("equation", std::string("...ij,...jk->...ik"))
      .expect<float>({2, 3, 2, 2},
                     {-8, 7, 1, -1, 4, 1, 8, -3, 8, -9, 0, 2, -12, 7, 4, -2, 2, -2, 6, -1, 7, -11, -1, 4});
  t.add("Einsum", "three inputs")
      .input<float>({2, 2}, {-1, -2, 0, 1})
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .attribute("equation", std::string("ij,jk,kl->il"))
      .expect<float>({2, 2}, {-11, -4, 4, 3});
  t.add("Einsum", "four inputs, one of them a scalar, with a letter of their own")
      .random(DataType::float32, {4, 5, 3})
      .random(DataType::float32, {5, 6})
      .random(DataType::float32, {})
      .random(DataType::float32, {6, 7, 4})
      .attribute("equation", std::string("bix,ij,,jkb->bk"));
  t.add("Einsum", "three inputs of int32, which wrap around")
      .random(DataType::int32, {4, 5}, -1e9, 1e9)
      .random(DataType::int32, {5, 6}, -1e9, 1e9)
      .random(DataType::int32, {6, 4}, -1e9, 1e9)
      .attribute("equation", std::string("ij,jk,ki->k"));
  t.add("Einsum", "spaces and capitals")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .attribute("equation", std::string(" Ab , bC -> A C"))
      .expect<float>({2, 2}, {3, -2, 4, 3});
  t.add("Einsum", "scalars")
      .input<float>({}, {3})
      .input<float>({}, {2})
      .attribute("equation", std::string(",->"))
      .expect<float>({}, {6});
  t.add("Einsum", "int64")
      .input<int64_t>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<int64_t>({2, 3}, {-1, 3, 2, -2, -3, -3})
      .attribute("equation", std::string("ij,ij->j"))
      .expect<int64_t>({3}, {4, -3, -1});
  t.add("Einsum", "nothing to sum")
      .input<float>({2, 0}, {})
      .input<float>({0, 2}, {})
      .attribute("equation", std::string("ij,jk->ik"))
      .expect<float>({2, 2}, {0, 0, 0, 0});
  t.add("Einsum", "float16")
      .random(DataType::float16, {3, 5})
      .random(DataType::float16, {5, 4})
      .attribute("equation", std::string("ij,jk->ik"));
  t.add("Einsum", "attention scores")
      .random(DataType::float32, {1, 16, 4, 32})
      .random(DataType::float32, {1, 16, 4, 32})
      .attribute("equation", std::string("bqhd,bkhd->bhqk"));
}

}  // namespace lathe
