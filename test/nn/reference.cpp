#include "reference.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "device/operations.h"
#include "kernels/cpu/layers.h"
#include "nn/specification.h"
#include "test/device/activation_reference.h"
#include "token_reference.h"

namespace eave {
namespace {

// samples × height × width × channels
struct Images {
  std::int64_t samples = 0;
  ImageShape shape;
  std::vector<double> values;
  Images(std::int64_t n, ImageShape s) : samples(n), shape(s), values(static_cast<std::size_t>(n * s.size())) {}
  double& at(std::int64_t n, int y, int x, int c) {
    return values[static_cast<std::size_t>(((n * shape.height + y) * shape.width + x) * shape.channels + c)];
  }
  double padded(std::int64_t n, int y, int x, int c, double outside) {
    return y < 0 || x < 0 || y >= shape.height || x >= shape.width ? outside : at(n, y, x, c);
  }
};

double number(const LayerText& text, const std::string& name, double otherwise) {
  for (std::size_t i = 0; i + 1 < text.arguments.size(); ++i) {
    if (text.arguments[i] == name) return std::stod(text.arguments[i + 1]);
  }
  return otherwise;
}

int option(const LayerText& text, const std::string& name, int otherwise) {
  return static_cast<int>(number(text, name, otherwise));
}

Window window(const LayerText& text, std::size_t argument) {
  const std::string& size = text.arguments[argument];
  const std::size_t cross = size.find('x');
  const int height = std::stoi(size);
  return {height, cross == std::string::npos ? height : std::stoi(size.substr(cross + 1)), 1, option(text, "pad", 0)};
}

class Reference {
 public:
  Reference(int classes, const Batch& batch, std::uint64_t seed, const std::vector<TensorInfo>& tensors,
            const std::vector<double>& parameters)
      : classes_(classes), batch_(batch), seed_(seed), tensors_(tensors), parameters_(parameters) {}

  Images run(Images x, const std::vector<LayerText>& texts) {
    for (const LayerText& text : texts) x = run_layer(std::move(x), text);
    return x;
  }

 private:
  Images run_layer(Images x, const LayerText& text) {
    const std::string& word = text.word;
    if (word == "dense") return dense(x, text);
    if (word == "conv2d") return convolution(x, text);
    if (word == "batch_norm") return batch_norm(std::move(x));
    if (word == "max_pool") return pool(x, text, true);
    if (word == "average_pool") return pool(x, text, false);
    if (word == "global_pool") return global_pool(x);
    if (word == "local_response_norm") return local_response_norm(x, text);
    if (word == "dropout") return dropout(std::move(x), text);
    if (const auto* activation = find_activation_reference(word)) return activate(std::move(x), *activation, text);
    if (word == "flatten") {
      x.shape = {1, 1, static_cast<int>(x.shape.size())};
      return x;
    }
    if (word == "residual") return residual(x, text);
    if (x.shape.width == 1) return run_token_layer(x, text);
    throw std::logic_error("the reference does not know " + word);
  }

  // Layers of windows of tokens: a row of the image is a position.
  Images run_token_layer(const Images& x, const LayerText& text) {
    TokenRows rows(x.samples, x.shape.height, x.shape.channels);
    rows.values = x.values;
    const TokenRows found = token_layer(rows, text);
    Images y(x.samples, {x.shape.height, 1, static_cast<int>(found.channels)});
    y.values = found.values;
    return y;
  }

  TokenRows token_layer(const TokenRows& x, const LayerText& text) {
    const std::string& word = text.word;
    const bool has_bias = std::ranges::find(text.arguments, "no_bias") == text.arguments.end();
    if (word == "embedding") {
      const double* table = next_tensor();
      return embed_reference(x, std::stoi(text.arguments[0]), table,
                             number(text, "positions", 0) > 0 ? next_tensor() : nullptr);
    }
    if (word == "linear") {
      const int outputs = text.arguments[0] == "classes" ? classes_ : std::stoi(text.arguments[0]);
      const double* weights = next_tensor();
      return linear_reference(x, outputs, weights, outputs, 1, has_bias ? next_tensor() : nullptr);
    }
    if (word == "tied_output")
      return linear_reference(x, classes_, parameters_.data() + tensors_[0].offset, 1, x.channels, nullptr);
    if (word == "attention") {
      const int heads = std::stoi(text.arguments[0]);
      const double rate = number(text, "dropout", 0);
      return attention_reference(x, heads, option(text, "groups", heads), [&](auto... place) {
        return rate > 0 ? kept_share(text, rate, x.positions, place...) : 1;
      });
    }
    if (word == "rotary") {
      const int heads = std::stoi(text.arguments[0]);
      return rotary_reference(x, heads, option(text, "groups", heads), number(text, "base", 10000));
    }
    if (word == "gated") return gated_reference(x, find_activation_reference(text.arguments[0])->forward);
    const bool centred = word == "layer_norm";
    if (!centred && word != "rms_norm") throw std::logic_error("the reference does not know " + word);
    const double* scale = next_tensor();
    return row_norm_reference(x, centred, number(text, "epsilon", 1e-5), scale,
                              centred && has_bias ? next_tensor() : nullptr);
  }

  const double* next_tensor() { return parameters_.data() + tensors_[next_++].offset; }

  Images dense(const Images& x, const LayerText& text) {
    using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const int outputs = text.arguments[0] == "classes" ? classes_ : std::stoi(text.arguments[0]);
    const Eigen::Map<const Matrix> input(x.values.data(), x.samples, x.shape.size());
    const Eigen::Map<const Matrix> weights(next_tensor(), x.shape.size(), outputs);
    const Eigen::Map<const Eigen::RowVectorXd> bias(next_tensor(), outputs);
    Images y(x.samples, {1, 1, outputs});
    Eigen::Map<Matrix>(y.values.data(), x.samples, outputs) = (input * weights).rowwise() + bias;
    return y;
  }

  Images convolution(Images& x, const LayerText& text) {
    Window w = window(text, 1);
    w.stride = option(text, "stride", 1);
    const int outputs = std::stoi(text.arguments[0]);
    const bool has_bias = std::find(text.arguments.begin(), text.arguments.end(), "no_bias") == text.arguments.end();
    const double* weights = next_tensor();
    const double* bias = has_bias ? next_tensor() : nullptr;
    Images y(x.samples, {w.rows(x.shape.height), w.columns(x.shape.width), outputs});
    for_each(y, [&](std::int64_t n, int row, int column, int o) {
      double sum = bias != nullptr ? bias[o] : 0;
      for (int i = 0; i < w.height; ++i) {
        for (int j = 0; j < w.width; ++j) {
          for (int c = 0; c < x.shape.channels; ++c) {
            sum += x.padded(n, row * w.stride - w.pad + i, column * w.stride - w.pad + j, c, 0) *
                   weights[((i * w.width + j) * x.shape.channels + c) * outputs + o];
          }
        }
      }
      y.at(n, row, column, o) = sum;
    });
    return y;
  }

  Images pool(Images& x, const LayerText& text, bool largest) {
    Window w = window(text, 0);
    w.stride = option(text, "stride", w.height);
    Images y(x.samples, {w.rows(x.shape.height), w.columns(x.shape.width), x.shape.channels});
    for_each(y, [&](std::int64_t n, int row, int column, int c) {
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int i = 0; i < w.height; ++i) {
        for (int j = 0; j < w.width; ++j) {
          const int at_y = row * w.stride - w.pad + i, at_x = column * w.stride - w.pad + j;
          most = std::max(most, x.padded(n, at_y, at_x, c, -std::numeric_limits<double>::infinity()));
          sum += x.padded(n, at_y, at_x, c, 0);
        }
      }
      y.at(n, row, column, c) = largest ? most : sum / (w.height * w.width);
    });
    return y;
  }

  Images global_pool(Images& x) {
    Images y(x.samples, {1, 1, x.shape.channels});
    for_each(x, [&](std::int64_t n, int row, int column, int c) {
      y.at(n, 0, 0, c) += x.at(n, row, column, c) / (x.shape.height * x.shape.width);
    });
    return y;
  }

  Images batch_norm(Images x) {
    const double* scale = next_tensor();
    const double* shift = next_tensor();
    const auto channels = static_cast<std::size_t>(x.shape.channels);
    const double rows = static_cast<double>(x.values.size() / channels);
    std::vector<double> mean(channels), variance(channels);
    for (std::size_t i = 0; i < x.values.size(); ++i) mean[i % channels] += x.values[i] / rows;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      variance[i % channels] += std::pow(x.values[i] - mean[i % channels], 2) / rows;
    }
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const std::size_t c = i % channels;
      x.values[i] = (x.values[i] - mean[c]) / std::sqrt(variance[c] + double{kBatchNormEpsilon}) * scale[c] + shift[c];
    }
    return x;
  }

  Images local_response_norm(Images& x, const LayerText& text) {
    const double radius = number(text, "radius", 2), alpha = number(text, "alpha", 1e-4);
    const double beta = number(text, "beta", 0.75), bias = number(text, "bias", 2);
    Images y(x.samples, x.shape);
    for_each(y, [&](std::int64_t n, int row, int column, int c) {
      double sum = 0;
      for (int other = 0; other < x.shape.channels; ++other) {
        if (std::abs(other - c) <= radius) sum += std::pow(x.at(n, row, column, other), 2);
      }
      y.at(n, row, column, c) = x.at(n, row, column, c) / std::pow(bias + alpha * sum, beta);
    });
    return y;
  }

  // Eight shares of a row take one block of random words: 16 bits each, the lower half of a word first.
  double kept_share(const LayerText& text, double rate, std::int64_t positions, std::int64_t sample, std::int64_t head,
                    std::int64_t position, std::int64_t other) const {
    const auto index = static_cast<std::uint64_t>(batch_.indices[static_cast<std::size_t>(sample)]);
    const std::int64_t block = (head * positions + position) * ((positions + 7) / 8) + other / 8;
    const auto words =
        random_words({seed_, Purpose::kDropout, static_cast<std::uint32_t>(text.number)},
                     (static_cast<std::uint64_t>(batch_.step) << 32) ^ index, static_cast<std::uint64_t>(block));
    const std::uint32_t bits = words[static_cast<std::size_t>(other % 8 / 2)] >> (other % 2 * 16) & 0xffff;
    return bits >= static_cast<std::uint32_t>(std::lround(rate * 65536)) ? 1 / (1 - rate) : 0;
  }

  // The pattern is eave's own (its distribution and independence are tested elsewhere).
  Images dropout(Images x, const LayerText& text) {
    const float rate = std::stof(text.arguments[0]);
    const auto size = static_cast<std::size_t>(x.shape.size());
    const std::vector<float> ones(size, 1.0f);
    std::vector<float> factors(size);
    for (std::int64_t n = 0; n < x.samples; ++n) {
      const auto index = static_cast<std::uint64_t>(batch_.indices[static_cast<std::size_t>(n)]);
      cpu::dropout({seed_, Purpose::kDropout, static_cast<std::uint32_t>(text.number)},
                   (static_cast<std::uint64_t>(batch_.step) << 32) ^ index, rate, x.shape.size(), ones.data(),
                   factors.data());
      for (std::size_t i = 0; i < size; ++i) x.values[static_cast<std::size_t>(n) * size + i] *= double{factors[i]};
    }
    return x;
  }

  static Images activate(Images x, const ActivationReference& activation, const LayerText& text) {
    const double parameter =
        text.arguments.empty() ? double{activation.parameter} : double{std::stof(text.arguments[0])};
    for (double& value : x.values) value = activation.forward(value, parameter);
    return x;
  }

  Images residual(const Images& x, const LayerText& text) {
    Images y = run(x, text.body);
    if (text.has_shortcut) {
      const Images more = run(x, text.shortcut);
      for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += more.values[i];
      return y;
    }
    Images from = x;
    const int stride = (x.shape.height + y.shape.height - 1) / y.shape.height;
    const int before = (y.shape.channels - x.shape.channels) / 2;
    for_each(y, [&](std::int64_t n, int row, int column, int c) {
      const int channel = c - before;
      if (channel < 0 || channel >= x.shape.channels) return;
      y.at(n, row, column, c) += from.at(n, row * stride, column * stride, channel);
    });
    return y;
  }

  template <class Visit>
  static void for_each(const Images& images, Visit visit) {
    for (std::int64_t n = 0; n < images.samples; ++n) {
      for (int row = 0; row < images.shape.height; ++row) {
        for (int column = 0; column < images.shape.width; ++column) {
          for (int c = 0; c < images.shape.channels; ++c) visit(n, row, column, c);
        }
      }
    }
  }

  int classes_;
  const Batch& batch_;
  std::uint64_t seed_;
  const std::vector<TensorInfo>& tensors_;
  const std::vector<double>& parameters_;
  std::size_t next_ = 0;
};

}  // namespace

ReferenceResult reference_loss(const std::string& specification, ImageShape input, int classes, const Batch& batch,
                               std::uint64_t seed, const std::vector<TensorInfo>& tensors,
                               const std::vector<double>& parameters, double smoothing) {
  Images x(batch.samples, input);
  std::copy_n(batch.inputs.begin(), x.values.size(), x.values.begin());
  const Images logits = Reference(classes, batch, seed, tensors, parameters).run(x, parse_specification(specification));
  ReferenceResult result{0, logits.values};
  const std::int64_t rows = batch.samples * batch.targets;
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int32_t label = batch.labels[static_cast<std::size_t>(n)];
    if (label == kNoLabel) continue;
    const double* row = logits.values.data() + n * classes;
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(row[c]);
    // The cross-entropy with the target (1 − smoothing) · onehot + smoothing / classes.
    double target = 0;
    for (int c = 0; c < classes; ++c) target += (smoothing / classes + (c == label ? 1 - smoothing : 0)) * row[c];
    result.loss += (std::log(sum) - target) / static_cast<double>(rows);
  }
  return result;
}

}  // namespace eave
