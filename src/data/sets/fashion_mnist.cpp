#include "data/sets/idx_dataset.h"

namespace eave {
namespace {

DataSplit open_fashion_mnist(const OptionValues& values) {
  const DataDirectories directories{{"data/fashion-mnist", "/usr/share/datasets/fashion-mnist"},
                                    "FashionMNIST/raw",
                                    "fashion-mnist (train-images-idx3-ubyte[.gz] and its three companions)",
                                    "apt install dataset-fashion-mnist, or name their directory with --data-dir"};
  return open_idx_set({directories, 0.2860F, 0.3530F}, values);
}

}  // namespace

DatasetKind describe_dataset_fashion_mnist() {
  return {"fashion-mnist",
          "28 x 28 grey pictures of clothes, 10 classes, 60,000 + 10,000 (Xiao, Rasul, Vollgraf, 2017)",
          data_file_options(), open_fashion_mnist};
}

}  // namespace eave
