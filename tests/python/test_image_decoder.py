"""ImageDecoder beside Pillow: random pictures, in every kind of file that Pillow writes."""

import io

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe

PIL = pytest.importorskip("PIL.Image")
images = next(c for c in lathe.system_info()["components"] if c["name"] == "images")
pytestmark = pytest.mark.skipif(images["path"] is None, reason=f"built without: {images['missing']}")


@pytest.fixture(scope="module")
def decode():
    engines = {}

    def run(file, pixel_format="RGB"):
        if pixel_format not in engines:
            node = oh.make_node("ImageDecoder", ["file"], ["picture"], pixel_format=pixel_format)
            byte = onnx.TensorProto.UINT8
            graph = oh.make_graph(
                [node], "g", [oh.make_tensor_value_info("file", byte, ["n"])], [oh.make_tensor_value_info("picture", byte, ["h", "w", "c"])]
            )
            model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)])
            engines[pixel_format] = lathe.build(model.SerializeToString())
        return engines[pixel_format].run({"file": np.frombuffer(file, np.uint8)})["picture"]

    return run


def picture(mode, seed=0, size=(37, 23)):
    """Smooth areas and edges, noise in a corner: what lossy coders treat differently."""
    rng = np.random.default_rng(seed)
    width, height = size
    y, x = np.mgrid[:height, :width]
    bands = len(PIL.new(mode, (1, 1)).getbands())
    planes = [(x * (3 + b) + y * (5 - b)) % 256 for b in range(bands)]
    planes = np.stack(planes, -1).astype(np.uint8)
    planes[: height // 3, : width // 3] = rng.integers(0, 256, (height // 3, width // 3, bands))
    if mode == "1":
        return PIL.fromarray(planes[:, :, 0]).convert("1")
    if mode == "P":
        return PIL.fromarray(planes[:, :, 0]).convert("RGB").quantize(32)
    if mode == "CMYK":
        return PIL.fromarray(planes[:, :, :3]).convert("CMYK")
    if mode == "LA":
        gray, alpha = (PIL.fromarray(np.ascontiguousarray(planes[:, :, b])) for b in (0, 1))
        return PIL.merge("LA", (gray, alpha))
    return PIL.fromarray(planes[:, :, 0] if bands == 1 else planes)


FILES = [
    *(("BMP", mode, {}) for mode in ("1", "L", "P", "RGB", "RGBA")),
    *(("PPM", mode, {}) for mode in ("1", "L", "RGB")),
    *(("PNG", mode, {}) for mode in ("1", "L", "P", "LA", "RGB", "RGBA")),
    *(("JPEG", mode, options) for mode in ("L", "RGB", "CMYK") for options in ({"quality": 30}, {"quality": 90, "progressive": True})),
    *(("JPEG", "RGB", {"subsampling": s, "quality": 80}) for s in (0, 1, 2)),
    ("JPEG", "RGB", {"quality": 75, "optimize": True, "restart_marker_rows": 1}),
    *(("WEBP", mode, options) for mode in ("RGB", "RGBA") for options in ({"lossless": True, "exact": True}, {"quality": 60}, {"quality": 90, "method": 6})),
    *(("TIFF", mode, {"compression": c}) for mode in ("L", "RGB") for c in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits")),
    *(("TIFF", mode, {}) for mode in ("1", "P")),
    *(("JPEG2000", mode, {}) for mode in ("L", "RGB", "RGBA")),
    ("JPEG2000", "RGB", {"no_jp2": True, "tile_size": (16, 16)}),
    ("JPEG2000", "RGB", {"num_resolutions": 2, "progression": "RPCL"}),
]


@pytest.mark.parametrize("kind, mode, options", FILES, ids=lambda v: str(v))
def test_every_kind_of_file(decode, kind, mode, options):
    if {"PPM": "pnm"}.get(kind, kind.lower()) not in images["has"].split():
        pytest.skip(f"left out: {images['lacks']}")
    sizes = [(37, 23), (1, 1), (64, 48), (5, 130)]
    if "num_resolutions" in options:
        sizes.remove((1, 1))  # nothing there to halve
    for seed, size in enumerate(sizes):
        stream = io.BytesIO()
        picture(mode, seed, size).save(stream, kind, **options)
        read = PIL.open(io.BytesIO(stream.getvalue()))
        expected = np.asarray(read.convert("RGB")).astype(int)
        got = decode(stream.getvalue())
        # For CMYK, the two ways of rounding a product differ by one.
        np.testing.assert_allclose(got.astype(int), expected, rtol=0, atol=1 if mode == "CMYK" else 0)
        np.testing.assert_array_equal(decode(stream.getvalue(), "BGR"), got[:, :, ::-1])
        gray = np.asarray(PIL.fromarray(got).convert("L"))
        np.testing.assert_array_equal(decode(stream.getvalue(), "Grayscale"), gray[:, :, None])


def test_sixteen_bits_lose_the_lower_eight(decode):
    values = np.arange(0, 65536, 1021, dtype=np.uint16).reshape(1, -1)
    stream = io.BytesIO()
    PIL.fromarray(values).save(stream, "PNG")
    np.testing.assert_array_equal(decode(stream.getvalue())[:, :, 1], values >> 8)


def test_rotations_beside_the_picture_are_not_applied(decode):
    stream = io.BytesIO()
    exif = PIL.Exif()
    exif[0x112] = 6
    picture("RGB").save(stream, "JPEG", exif=exif)
    assert decode(stream.getvalue()).shape == (23, 37, 3)


def test_an_animation_is_no_picture(decode):
    if "webp" not in images["has"].split():
        pytest.skip(f"left out: {images['lacks']}")
    stream = io.BytesIO()
    frames = [picture("RGB", s) for s in range(2)]
    frames[0].save(stream, "WEBP", save_all=True, append_images=frames[1:])
    assert decode(stream.getvalue()).shape == (0, 0, 3)
