// Copies, transposes and repetitions of elements: what other folders use of src/cpu/movement.
#pragma once

#include "cpu/movement/lines.h"
#include "cpu/movement/move.h"
#include "cpu/movement/repeat.h"
#include "cpu/movement/transpose.h"
