"""Problems of ImageDecoder."""

from __future__ import annotations

from draw import elsewhere

elsewhere("test_image_decoder.py", "ImageDecoder")  # against Pillow
