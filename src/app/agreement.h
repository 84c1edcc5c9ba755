// What ranks must have alike to train together, beside their options.
#pragma once

#include "eave/trainer.h"

namespace eave {

// Collective, before training. The model, and what the data is: counts, shapes, classes, a hash of all labels and of
// some images. Throws AgreedError(kConfiguration) that names what differs and on which ranks.
void require_same_training(Transport& transport, const Model& model, const DataSplit& data);

}  // namespace eave
