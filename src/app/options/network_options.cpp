#include <cstdlib>
#include <random>
#include <utility>

#include "app/main/launch.h"
#include "app/options/shared_options.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "eave/decorators.h"
#include "eave/job.h"

namespace eave {

namespace {

// The options of transports whose ranks meet by themselves. auto has them too, because it may choose such a transport.
std::vector<OptionSpec> meeting_options() {
  return {{"meet", OptionType::kText, "",
           "HOST:PORT at which rank 0 listens and the other ranks reach it (default: environment EAVE_MEET)"},
          {"meet-limit", OptionType::kSeconds, "",
           "how long the ranks wait there for each other (default: environment EAVE_MEET_LIMIT, else 10min)"}};
}

// Refuses --meet and --meet-limit if auto would ignore them. EAVE_MEET and EAVE_MEET_LIMIT may be exported for other
// jobs, so they are not refused.
void refuse_useless_meeting(const OptionValues& values) {
  if (values.text("transport") != "auto") return;
  for (const char* name : {"meet", "meet-limit"}) {
    if (!values.given(name) || values.entry(name).source.starts_with("environment")) continue;
    if (started_by_launcher())
      refuse_option(values, name, "has no effect under a launcher of MPI, with which auto is mpi; add --transport tcp");
    if (!values.given("meet") && std::getenv("EAVE_MEET") == nullptr)
      refuse_option(values, name, "has no effect without --meet");
  }
}

}  // namespace

void add_transport(CommandLine& line) {
  std::vector<CommandLine::Member> members = {
      {"auto",
       "under a launcher of MPI, mpi; else with --meet, tcp; else loopback. If every rank has its own GPU, NCCL sums",
       meeting_options()}};
  for (const TransportKind& kind : transport_kinds()) {
    members.push_back({kind.name, kind.summary, {}});
    if (kind.starts_ranks) {
      members.back().options = {{"ranks", OptionType::kInteger, "2", "number of ranks, as threads of this process"}};
    }
    if (kind.meets) members.back().options = meeting_options();
  }
  line.add_family("Ranks and network", choice("transport", {}, "auto", "how values travel between ranks"), members);
}

std::vector<OptionSpec> link_options() {
  return {{"shape-delay", OptionType::kSeconds, "0s", "delay to add to every exchange, to imitate a slow network"},
          {"shape-rate", OptionType::kRate, "", "rate limit of every rank's link, such as 1gbit (default: no limit)"},
          {"shape-jitter", OptionType::kSeconds, "0s", "largest random delay of a rank before each exchange"}};
}

int ranks_in_process(const OptionValues& values) {
  const int ranks = values.has("ranks") ? static_cast<int>(values.integer("ranks", 1, 4096)) : 0;
  refuse_launcher(values.text("transport"));
  refuse_useless_meeting(values);
  for (const auto& [option, variable] : {std::pair{"meet", "EAVE_MEET"}, std::pair{"meet-limit", "EAVE_MEET_LIMIT"}})
    if (values.has(option) && values.given(option)) setenv(variable, values.text(option).c_str(), 1);
  return ranks;
}

std::unique_ptr<Transport> make_nccl_link(Transport& bare, const OptionValues& values, const DevicePlan& device) {
  if (!device.is_cuda || !device.is_own || !tries_nccl(values.text("transport"), bare.name())) return nullptr;
  return make_nccl_transport(bare, NcclUse::kWherePossible, print_warning);
}

std::unique_ptr<Transport> make_shaped_link(Transport& bare, const OptionValues& values) {
  const LinkShape link{values.seconds("shape-delay"),
                       values.has("shape-rate") ? values.bytes_per_second("shape-rate") : 0,
                       values.seconds("shape-jitter"), std::random_device()()};
  if (link.delay_seconds == 0 && link.bytes_per_second == 0 && link.jitter_seconds == 0) return nullptr;
  return make_shaped_transport(bare, link);
}

std::string describe_shape(const OptionValues& values) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (values.given("shape-rate")) add("at most " + bit_rate_text(values.bytes_per_second("shape-rate")));
  if (values.given("shape-delay")) add("each exchange " + duration_text(values.seconds("shape-delay")) + " later");
  if (values.given("shape-jitter"))
    add("begun up to " + duration_text(values.seconds("shape-jitter")) + " later by chance");
  return text;
}

std::string describe_useless_link(const Transport& transport, ExchangePattern exchanges) {
  const bool is_lone = transport.size() == 1;
  if ((!is_lone && exchanges != ExchangePattern::kNone) || transport.name().find("shaped") == std::string::npos)
    return "";
  return std::string("--shape-delay, --shape-rate and --shape-jitter slow ") +
         (is_lone ? "nothing down: one rank exchanges nothing"
                  : "no step down: ranks that train alone exchange nothing before the end");
}

}  // namespace eave
