// One flat pass with its vectors, for example
//
//     device.run({passes::Subtract{}, {parameters, difference}});
//     device.run({passes::WriteDifference{alpha}, {difference, parameters, center}, ahead});
//     device.run({passes::HeavyBall{step}, {parameters, gradients, velocity}, {}, &pull});
//
// cpu::run runs it on the CPU, cuda::run (kernels/cuda/flat.h) on a GPU.
#pragma once

#include <array>
#include <cstddef>

#include "eave/slice.h"
#include "eave/update_steps.h"
#include "kernels/flat/words.h"

namespace eave {

struct FlatPass {
  FlatWord word;
  // As the word's kOperands say; the pass writes to those that are not Use::kRead. They are equally long, lie in the
  // device's memory and do not overlap.
  std::array<ConstSlice, passes::kMostOperands> operands;
  Ahead ahead = {};            // only for a word with kMayBeAhead
  const Pull* pull = nullptr;  // only for a word with kMayPull; nullptr: the step alone
  // Only for a word with kMayDecay: a factor on the weight decay for each kDecayBlock elements, the last block may be
  // incomplete. Empty: 1 everywhere.
  ConstSlice decay_shares = {};

  std::size_t size() const { return operands[0].size(); }
  // Writable only if the word's kOperands say so.
  float* operand(std::size_t k) const { return const_cast<float*>(operands[k].data()); }
  // nullptr: the parameters are the iterate.
  const float* velocity() const { return ahead.velocity.empty() ? nullptr : ahead.velocity.data(); }
};

namespace cpu {

// Returns whether all elements took their step, or true if the word does not answer.
bool run(const FlatPass& pass);

}  // namespace cpu
}  // namespace eave
