// Samples of images between pixels: what other folders use of src/cpu/sampling.
#pragma once

#include "cpu/sampling/grid.h"
#include "cpu/sampling/sample.h"
