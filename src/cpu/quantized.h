// Products and convolutions of int8 and of low-bit weights: what other folders use of src/cpu/quantized.
#pragma once

#include "cpu/quantized/int8_conv.h"
#include "cpu/quantized/int8_gemm.h"
#include "cpu/quantized/int8_rows.h"
#include "cpu/quantized/int8_winograd.h"
#include "cpu/quantized/low_bit.h"
#include "cpu/quantized/low_bit_weights.h"
