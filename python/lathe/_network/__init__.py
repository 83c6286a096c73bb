"""The network API builds networks call by call, with TensorRT's names."""
