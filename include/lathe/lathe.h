// Everything public in one include.
#pragma once

#include "lathe/builder.h"
#include "lathe/checkpoint.h"
#include "lathe/dim.h"
#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/io.h"
#include "lathe/layers.h"
#include "lathe/network.h"
#include "lathe/onnx.h"
#include "lathe/profile.h"
#include "lathe/tensor.h"
#include "lathe/tools.h"
#include "lathe/types.h"
#include "lathe/value.h"
#include "lathe/values.h"
#include "lathe/version.h"
