// Convolutions in NCHW: what other folders use of src/cpu/conv.
#pragma once

#include "cpu/conv/conv.h"
#include "cpu/conv/conv_transpose.h"
