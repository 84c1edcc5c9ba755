#include "kernels/cuda/flat.h"
#include "kernels/cuda/support/flat_pass.h"

namespace eave::cuda {
namespace {

using passes::At;
using passes::Elastic;
using passes::Move;

// The source of a word's first argument: its vectors are loaded into Lanes, from which `at` makes the argument for one
// lane. A plain word has none.
struct NoArgument {
  const float* first = nullptr;
  const float* second = nullptr;

  template <int kLanes>
  struct Packet {};
  template <int kLanes>
  __device__ Packet<kLanes> load_packet(std::int64_t) const {
    return {};
  }
  template <int kLanes>
  __device__ void store_packet(std::int64_t, const Packet<kLanes>&) const {}
};

template <bool kIsAhead>
struct AheadArgument {
  const float* first;  // the velocity
  float factor;
  const float* second = nullptr;

  template <int kLanes>
  struct Packet {
    Lanes<kLanes> velocity;
    float factor;
    __device__ At<kIsAhead> at(int k) const { return {factor * velocity.at[k]}; }
  };
  template <int kLanes>
  __device__ Packet<kLanes> load_packet(std::int64_t i) const {
    if constexpr (kIsAhead) return {load<kLanes>(first + i), factor};
    return {};
  }
  template <int kLanes>
  __device__ void store_packet(std::int64_t, const Packet<kLanes>&) const {}
};

template <Elastic kElastic>
struct PullArgument {
  float* first;   // the center
  float* second;  // the difference
  float alpha;

  template <int kLanes>
  struct Packet {
    float alpha;
    Lanes<kLanes> center, difference;
    __device__ Move<kElastic> at(int k) { return {alpha, center.at + k, difference.at + k}; }
  };
  template <int kLanes>
  __device__ Packet<kLanes> load_packet(std::int64_t i) const {
    Packet<kLanes> packet = {alpha, {}, {}};
    if constexpr (kElastic != Elastic::kNone) packet.center = load<kLanes>(first + i);
    if constexpr (kElastic == Elastic::kArriveAndPull) packet.difference = load<kLanes>(second + i);
    return packet;
  }
  template <int kLanes>
  __device__ void store_packet(std::int64_t i, const Packet<kLanes>& packet) const {
    if constexpr (kElastic == Elastic::kArriveAndPull) store(first + i, packet.center);
    if constexpr (kElastic != Elastic::kNone) store(second + i, packet.difference);
  }
};

template <class Word, class Argument>
struct WordPass {
  static constexpr int kWidth = 4, kCount = passes::kOperandCount<Word>;
  static constexpr unsigned kNotLoaded = passes::operands_with<Word>(passes::Use::kWritten);
  static constexpr unsigned kNotStored = passes::operands_with<Word>(passes::Use::kRead);
  static constexpr unsigned kHalved = passes::operands_with<Word>(passes::Use::kParameters);
  Word word;
  Argument argument;
  float* operands[passes::kMostOperands];
  Half* half;
  double* stayed;
  const float* decay_shares;

  __device__ Word word_at(std::int64_t i) const {
    if constexpr (passes::MayDecay<Word>) {
      if (decay_shares != nullptr) return with_decay(word, decay_shares[i / std::int64_t{kDecayBlock}]);
    }
    return word;
  }

  int before_packet() const {
    return elements_before_packet(kWidth, operands[0], operands[1], operands[2], operands[3], argument.first,
                                  argument.second, half);
  }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    Lanes<kLanes> s[passes::kMostOperands];
    for (int n = 0; n < kCount; ++n) {
      if ((kNotLoaded >> n & 1) == 0) s[n] = load<kLanes>(operands[n] + i);
    }
    auto packet = argument.template load_packet<kLanes>(i);
    for (int k = 0; k < kLanes; ++k) {
      if constexpr (passes::Answers<Word>) {
        if (call(word_at(i + k), k, s[0].at, s[1].at, s[2].at, s[3].at, packet.at(k)) == 0 && stayed != nullptr)
          *stayed = 1;
      } else if constexpr (passes::MayPull<Word> || passes::MayBeAhead<Word>) {
        call(word, k, s[0].at, s[1].at, s[2].at, s[3].at, packet.at(k));
      } else {
        call(word, k, s[0].at, s[1].at, s[2].at, s[3].at);
      }
    }
    for (int n = 0; n < kCount; ++n) {
      if ((kNotStored >> n & 1) == 0) store(operands[n] + i, s[n]);
      if ((kHalved >> n & 1) != 0 && half != nullptr) store(half + i, s[n]);
    }
    argument.store_packet(i, packet);
  }
};

template <class Word>
void enqueue_word(const char* name, cudaStream_t stream, const Word& word, const FlatPass& pass, Half* half,
                  double* stayed) {
  const auto enqueue = [&](const auto& argument) {
    const WordPass<Word, std::decay_t<decltype(argument)>> all = {
        word, argument, {pass.operand(0), pass.operand(1), pass.operand(2), pass.operand(3)},
        half, stayed,   pass.decay_shares.empty() ? nullptr : pass.decay_shares.data()};
    enqueue_flat(name, stream, all, static_cast<std::int64_t>(pass.size()));
  };
  if constexpr (passes::MayPull<Word>) {
    if (pass.pull == nullptr) return enqueue(PullArgument<Elastic::kNone>{});
    const Pull& pull = *pass.pull;
    if (pull.center_is_behind) {
      enqueue(PullArgument<Elastic::kArriveAndPull>{pull.center.data(), pull.difference.data(), pull.alpha});
    } else {
      enqueue(PullArgument<Elastic::kPull>{pull.center.data(), pull.difference.data(), pull.alpha});
    }
  } else if constexpr (passes::MayBeAhead<Word>) {
    if (pass.velocity() == nullptr) return enqueue(AheadArgument<false>{});
    enqueue(AheadArgument<true>{pass.velocity(), pass.ahead.factor});
  } else {
    enqueue(NoArgument{});
  }
}

#define EAVE_DEFINE_ENQUEUE(word, Word)                                                               \
  void enqueue(cudaStream_t stream, const passes::Word& expression, const FlatPass& pass, Half* half, \
               double* stayed) {                                                                      \
    enqueue_word(#word, stream, expression, pass, half, stayed);                                      \
  }
EAVE_EACH_FLAT_PASS(EAVE_DEFINE_ENQUEUE)
#undef EAVE_DEFINE_ENQUEUE

}  // namespace

void run(cudaStream_t stream, const FlatPass& pass, Half* half, double* stayed) {
  std::visit([&](const auto& word) { enqueue(stream, word, pass, half, stayed); }, pass.word);
}

}  // namespace eave::cuda
