"""Draws an image with text and reads it with rapidocr_onnxruntime."""

import json

import cv2
import numpy as np
import onnxruntime
from rapidocr_onnxruntime import RapidOCR

image = np.full((220, 640, 3), 255, np.uint8)
for i, line in enumerate(("Lathe turns models", "into engines", "2026 0123456789")):
    cv2.putText(image, line, (20, 60 + 60 * i), cv2.FONT_HERSHEY_SIMPLEX, 1.4, (0, 0, 0), 2, cv2.LINE_AA)

lines, _ = RapidOCR()(image)
print(
    json.dumps(
        {
            "runtime": onnxruntime.get_build_info(),
            "lines": [{"box": np.asarray(b).tolist(), "text": t, "score": float(s)} for b, t, s in lines or []],
        }
    )
)
