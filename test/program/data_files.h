// A small set in the files of Fashion-MNIST.
#pragma once

#include <functional>
#include <string>

#include "test/program/program.h"

namespace eave {

// 12 training and 11 test images, 28 × 28; `change` may do anything to the bytes of each file before it is written.
void write_fashion_mnist(const Place& place, const std::string& directory,
                         const std::function<void(const std::string& name, std::string& bytes)>& change);

}  // namespace eave
