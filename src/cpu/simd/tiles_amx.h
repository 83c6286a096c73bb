// The instructions of AMX. Included by for_each_isa.h only.
//
// They are written in assembly, since gcc's intrinsics do not declare that a tile load reads memory: stores
// before it could be lost.

/// Loads 16 rows (of B), or as many as were configured, `row` bytes apart.
template <int Tile>
LATHE_INLINE void load_tile(const void* from, int64_t row) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row), "i"(Tile) : "memory");
}
template <int Tile>
LATHE_INLINE void store_tile(void* to, int64_t row) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row), "i"(Tile) : "memory");
}
template <int Tile>
LATHE_INLINE void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
}

/// Sums += A B for quads of bytes, unsigned in A and signed in B.
struct TiledInt8 {
  template <int Sums, int A, int B>
  static LATHE_INLINE void add_product() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
};
/// The same for pairs of bfloat16, with sums in float32.
struct TiledBf16Dot2 {
  template <int Sums, int A, int B>
  static LATHE_INLINE void add_product() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
};

constexpr int64_t tile_row = 64, tile_depth = 16;
/// Bytes from one row of a packed panel to the next: two tiles side by side.
constexpr int64_t tiled_panel_row = 2 * tile_row;

/// Multiplies a step along k: 16 rows of the panel. Lower: the lower tile of A has rows. Wide: both halves of
/// the panel are used.
template <class Elements, bool Lower, bool Wide>
LATHE_INLINE void tile_step(const void* upper, const void* lower, const void* w) {
  load_tile<4>(upper, tile_row);
  load_tile<6>(w, tiled_panel_row);
  Elements::template add_product<0, 4, 6>();
  if constexpr (Lower) {
    load_tile<5>(lower, tile_row);
    Elements::template add_product<2, 5, 6>();
  }
  if constexpr (Wide) {
    load_tile<7>(static_cast<const char*>(w) + tile_row, tiled_panel_row);
    Elements::template add_product<1, 4, 7>();
    if constexpr (Lower) Elements::template add_product<3, 5, 7>();
  }
}

/// Stores the sums as rows of 32 numbers, as far as they were computed.
template <bool Lower, bool Wide>
LATHE_INLINE void store_tiles(void* to, int64_t upper) {
  char* const left = static_cast<char*>(to);
  store_tile<0>(left, tiled_panel_row);
  if constexpr (Wide) store_tile<1>(left + tile_row, tiled_panel_row);
  if constexpr (Lower) store_tile<2>(left + upper * tiled_panel_row, tiled_panel_row);
  if constexpr (Lower && Wide) store_tile<3>(left + upper * tiled_panel_row + tile_row, tiled_panel_row);
}
