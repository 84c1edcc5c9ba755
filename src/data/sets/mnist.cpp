#include "data/sets/idx_dataset.h"

namespace eave {
namespace {

DataSplit open_mnist(const OptionValues& values) {
  const DataDirectories directories{
      {"data/mnist", "/usr/share/datasets/mnist"},
      "MNIST/raw",
      "mnist (train-images-idx3-ubyte[.gz] and its three companions)",
      "put the four files of the original distribution into one directory and name it with --data-dir"};
  return open_idx_set({directories, 0.1307F, 0.3081F}, values);
}

}  // namespace

DatasetKind describe_dataset_mnist() {
  return {"mnist", "28 x 28 grey handwritten digits, 10 classes, 60,000 + 10,000 (LeCun, Cortes, Burges)",
          data_file_options(), open_mnist};
}

}  // namespace eave
