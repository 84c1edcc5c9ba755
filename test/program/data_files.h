// Small sets: in the files of Fashion-MNIST, and as a folder of images.
#pragma once

#include <functional>
#include <string>

#include "test/program/program.h"

namespace eave {

// 12 training and 11 test images, 28 × 28; `change` may do anything to the bytes of each file before it is written.
void write_fashion_mnist(const Place& place, const std::string& directory,
                         const std::function<void(const std::string& name, std::string& bytes)>& change);

// train/a, train/b, test/a and test/b with two images of one pixel each; `change` as above, its name from `directory`
// on.
void write_image_folder(const Place& place, const std::string& directory,
                        const std::function<void(const std::string& name, std::string& bytes)>& change);

}  // namespace eave
