// Fourier transforms: what other folders use of src/cpu/spectral.
#pragma once

#include "cpu/spectral/fourier.h"
