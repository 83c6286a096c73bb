// Reductions, softmax and norms along rows, arg and top-k: what other folders use of src/cpu/reduce.
#pragma once

#include "cpu/reduce/accumulate.h"
#include "cpu/reduce/arg.h"
#include "cpu/reduce/maxima.h"
#include "cpu/reduce/rows.h"
#include "cpu/reduce/top.h"
