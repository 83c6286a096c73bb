// Convolutions, pooling and normalization in nChw16c: what other folders use of src/cpu/nchw16c.
#pragma once

#include "cpu/nchw16c/blocked.h"
#include "cpu/nchw16c/blocked_conv_depthwise.h"
#include "cpu/nchw16c/blocked_shape.h"
#include "cpu/nchw16c/image_strips.h"
