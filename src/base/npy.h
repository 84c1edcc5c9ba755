// NumPy's file format for one array: numpy.load reads it.
#pragma once

#include <filesystem>

#include "base/output_path.h"
#include "base/safetensors.h"

namespace eave {

// Version 1.0, little-endian float32, row-major; the name is not in it. Atomic. Throws Error: kCannotCreate,
// kInputOutput.
void write_npy(const OutputPath& path, const NamedArray& array);

}  // namespace eave
