#include "communicator/outer/look_ahead.h"

#include <algorithm>

namespace eave {
namespace {

bool is_on(const CommunicatorContext& context, const std::string& name) {
  const std::pair<std::string, std::string> on{name, "on"};
  return std::ranges::find(context.settings, on) != context.settings.end();
}

bool is_off(const CommunicatorContext& context, const std::string& name) {
  const std::pair<std::string, std::string> off{name, "off"};
  return std::ranges::find(context.settings, off) != context.settings.end();
}

// The iterate as a formula of the parameters that a worker holds.
std::string iterate(const CommunicatorContext& context) {
  if (is_off(context, "momentum-correction")) return "x_i = y_i + mu v_i, y_i the parameters as held";
  return "x_i = y_i + lr mu v_i, y_i the parameters as held and lr that of the exchange's step: where lr drops, y_i "
         "stays and x_i moves";
}

}  // namespace

std::string describe_pulled_iterates(const CommunicatorContext& context) {
  if (!is_on(context, "nesterov")) return "";
  return "\nEAMSGD: x_i is the iterate, the gradient is taken ahead of it, and the pull does not enter the "
         "velocity;\n" +
         iterate(context);
}

std::string describe_gossiped_iterates(const CommunicatorContext& context) {
  if (!is_on(context, "nesterov")) return "";
  return "\nNesterov: x_i is the iterate, the gradient is taken ahead of it, and the pull does not enter the velocity; "
         "evaluated: the mean of the y_i;\n" +
         iterate(context);
}

std::string describe_pushed_iterates(const CommunicatorContext& context) {
  if (!is_on(context, "nesterov")) return "";
  return "\nNesterov: x_i is the iterate: workers push what it has moved by, and go on from x_i = c with their "
         "velocity;\n" +
         iterate(context);
}

std::string describe_averaged_points(const CommunicatorContext& context) {
  if (!is_on(context, "nesterov")) return "";
  return "\nNesterov: x_i are the parameters as held, the points ahead where the next gradients are taken: these are "
         "averaged, not the iterates";
}

}  // namespace eave
