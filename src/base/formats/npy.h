// Writes one array in NumPy's file format, which numpy.load reads.
#pragma once

#include <filesystem>

#include "base/files/output_path.h"
#include "base/formats/safetensors.h"

namespace eave {

// Writes format version 1.0: little-endian float32, row-major, without the name. Atomic. Throws Error: kCannotCreate,
// kInputOutput.
void write_npy(const OutputPath& path, const NamedArray& array);

}  // namespace eave
