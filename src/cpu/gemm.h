// Products of matrices in float32 and float64: what other folders use of src/cpu/gemm.
#pragma once

#include "cpu/gemm/channel_scaling.h"
#include "cpu/gemm/exponent_packed.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/gemm_doubles.h"
#include "cpu/gemm/strassen.h"
