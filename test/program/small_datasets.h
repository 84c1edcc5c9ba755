// Writes small data sets: as files of Fashion-MNIST, and as a folder of images.
#pragma once

#include <functional>
#include <string>

#include "test/program/program.h"

namespace eave {

// Writes 12 training and 11 test images of 28 × 28 pixels. `change` gets each file's name and may change its bytes
// before they are written.
void write_fashion_mnist(const Place& place, const std::string& directory,
                         const std::function<void(const std::string& name, std::string& bytes)>& change);

// Writes train/a, train/b, test/a and test/b, each with two images of one pixel. `change` is as above, and gets the
// name relative to `directory`.
void write_image_folder(const Place& place, const std::string& directory,
                        const std::function<void(const std::string& name, std::string& bytes)>& change);

}  // namespace eave
