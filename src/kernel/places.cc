#include "kernel/places.h"

namespace lathe {

const PlaceTable& PlaceTable::standard() {
  static const PlaceTable table = [] {
    PlaceTable t;
    register_all_places(t);
    return t;
  }();
  return table;
}

}  // namespace lathe
