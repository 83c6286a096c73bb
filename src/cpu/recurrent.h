// Recurrent layers: what other folders use of src/cpu/recurrent.
#pragma once

#include "cpu/recurrent/rnn.h"
