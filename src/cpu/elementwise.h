// Elementwise functions, conversions and programs of them: what other folders use of src/cpu/elementwise.
#pragma once

#include "cpu/elementwise/casts.h"
#include "cpu/elementwise/choose.h"
#include "cpu/elementwise/elementwise.h"
#include "cpu/elementwise/mixed_pointwise.h"
#include "cpu/elementwise/pointwise.h"
#include "cpu/elementwise/streaming_epilogue.h"
#include "cpu/elementwise/typed_elementwise.h"
