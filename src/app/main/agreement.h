// Checks that all ranks have the same model and data, which their options alone do not ensure.
#pragma once

#include "eave/trainer.h"

namespace eave {

// Collective, before training. Compares the model and the data of all ranks: counts, shapes, classes, a hash of all
// labels and of some images. Throws AgreedError(kConfiguration), which names what differs and on which ranks.
void require_same_training(Transport& transport, const Model& model, const DataSplit& data);

}  // namespace eave
