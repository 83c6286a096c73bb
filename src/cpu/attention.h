// Attention and linear attention: what other folders use of src/cpu/attention.
#pragma once

#include "cpu/attention/attention.h"
#include "cpu/attention/linear_attention.h"
