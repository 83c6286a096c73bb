"""The network API: networks built call by call, with TensorRT's words."""
