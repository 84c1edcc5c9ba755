#include <gtest/gtest.h>

#include "app/main/commands.h"
#include "app/options/option_sources.h"
#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

Environment read(const std::vector<std::string>& variables) {
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  return read_environment(environment.data(), train_command_line().declared());
}

std::string refused_variables(const std::vector<std::string>& variables) {
  return refusal_by([&] { read(variables); });
}

TEST(Environment, what_kubernetes_sets_for_a_service_called_eave_is_passed_over) {
  for (const std::string service : {"EAVE", "EAVE_TRAIN", "EAVE_BATCH", "EAVE_LR", "EAVE_RUN_DIR"}) {
    const Environment found =
        read({service + "_SERVICE_HOST=10.0.0.1", service + "_SERVICE_PORT=80", service + "_SERVICE_PORT_HTTP=80",
              service + "_SERVICE_PORT_GRPC_WEB=81", service + "_PORT=tcp://10.0.0.1:80",
              service + "_PORT_80_TCP=tcp://10.0.0.1:80", service + "_PORT_80_TCP_PROTO=tcp",
              service + "_PORT_80_TCP_PORT=80", service + "_PORT_80_TCP_ADDR=10.0.0.1",
              service + "_PORT_53_UDP=udp://10.0.0.1:53", service + "_PORT_9_SCTP_ADDR=10.0.0.1"});
    EXPECT_TRUE(found.settings.empty()) << service << " " << found.settings.front().source;
    EXPECT_TRUE(found.unknown.empty()) << service << " " << found.unknown.front();
  }
}

TEST(Environment, a_port_of_a_service_may_be_a_number) {
  const Environment found = read({"EAVE_TRAIN_PORT=1", "EAVE_TRANS_PORT=8080", "EAVE_TRAIN_SERVICE_HOST=10.0.0.1"});
  EXPECT_TRUE(found.settings.empty() && found.unknown.empty());
  expect_parts(refused_variables({"EAVE_TRANS_PORT=mpi"}), {"did you mean --transport?"});
}

TEST(Environment, options_of_other_commands_are_passed_over) {
  const Environment found =
      read({"EAVE_SEEDS=2", "EAVE_OUTPUT=runs/all", "EAVE_COMMUNICATORS=easgd", "EAVE_HTML=a.html"});
  EXPECT_TRUE(found.settings.empty());
  EXPECT_TRUE(found.unknown.empty()) << found.unknown.front();
}

TEST(Environment, can_be_had_without_some_options) {
  const char* const all[] = {"EAVE_BATCH=1,2", "EAVE_SIDE_BY_SIDE=off", "EAVE_MODEL=lenet", "PATH=/bin", nullptr};
  const std::vector<const char*> kept = environment_without(all, {"batch", "side-by-side"});
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(std::string(kept[0]) + " " + kept[1], "EAVE_MODEL=lenet PATH=/bin");
  EXPECT_EQ(kept[2], nullptr);
}

TEST(Environment, what_environment_modules_set_is_passed_over) {
  const Environment found =
      read({"EAVE_ROOT=/opt/eave", "EAVE_HOME=/opt/eave", "EAVE_VERSION=1.0", "EAVE_DIR=/opt", "EAVE_BASE=/opt",
            "EAVE_LIB=/opt/lib", "EAVE_INC=/opt/include", "EBROOTEAVE=/opt", "EAVE_LAB=/lab", "EAVE_PORT=8080"});
  EXPECT_TRUE(found.settings.empty());
  EXPECT_TRUE(found.unknown.empty());
}

TEST(Environment, a_probable_misspelling_of_an_option_is_refused) {
  for (const auto& [variable, option] :
       std::vector<std::pair<std::string, std::string>>{{"EAVE_BACTH", "batch"},
                                                        {"EAVE_LERANING_RATE", "lr"},
                                                        {"EAVE_LEARNING_RATE", "lr"},
                                                        {"EAVE_LEARNIG_RAET", "lr"},
                                                        {"EAVE_BATCH_SIZE", "batch"},
                                                        {"EAVE_EPOCH", "epochs"},
                                                        {"EAVE_COMUNICATOR", "communicator"},
                                                        {"EAVE_RUNDIR", "run-dir"},
                                                        {"EAVE_TUA", "tau"},
                                                        {"EAVE_CHECKPIONT_EVERY", "checkpoint-every"},
                                                        {"EAVE_MODLE", "model"},
                                                        {"EAVE_SED", "seed"}}) {
    EXPECT_EQ(refused_variables({variable + "=1"}).find("64 unknown option --"), 0u)
        << variable << ": " << refused_variables({variable + "=1"});
    expect_parts(refused_variables({variable + "=1"}),
                 {"(environment " + variable + "); did you mean --" + option + "?"});
  }
}

TEST(Environment, other_variables_are_listed_and_change_nothing) {
  const Environment found = read({"EAVE_TAG=v1", "EAVE_URL=https://a.org", "EAVE_DEPLOYMENT=blue",
                                  "EAVE_DATA_VERSION=3", "EAVE_=1", "EAVE_LOG_LEVEL=debug", "EAVE_BATCH=7", "OTHER=1"});
  EXPECT_EQ(found.unknown, (std::vector<std::string>{"EAVE_TAG", "EAVE_URL", "EAVE_DEPLOYMENT", "EAVE_DATA_VERSION",
                                                     "EAVE_", "EAVE_LOG_LEVEL"}));
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_EQ(found.settings.front().name, "batch");
  EXPECT_EQ(found.settings.front().text, "7");
}

TEST(Environment, one_sentence_names_all_that_are_unknown) {
  EXPECT_EQ(describe_unknown_variables({}), "");
  EXPECT_EQ(describe_unknown_variables({"EAVE_A"}), "EAVE_A is no option of eave, and has no effect");
  EXPECT_EQ(describe_unknown_variables({"EAVE_A", "EAVE_B", "EAVE_C"}),
            "EAVE_A, EAVE_B and EAVE_C are no options of eave, and have no effect");
  EXPECT_EQ(describe_unknown_variables(std::vector<std::string>(10, "EAVE_A")).substr(48),
            "EAVE_A, EAVE_A and 2 more are no options of eave, and have no effect");
}

TEST(Environment, two_variables_of_one_option_that_differ_are_refused) {
  expect_parts(refused_variables({"EAVE_BATCH=7", "EAVE_batch=8"}), {"64 --batch is set twice"});
  EXPECT_EQ(refused_variables({"EAVE_BATCH=7", "EAVE_batch=7"}), "accepted");
}

// Time and memory stay small even if a name or a value is very long.
TEST(Environment, long_variables_are_read_in_little_time_and_memory) {
  const std::string much(1 << 20, 'A');
  EXPECT_EQ(read({"EAVE_" + much + "=1", "EAVE_X_PORT=tcp://" + much}).unknown.size(), 1u);
}

}  // namespace
}  // namespace eave
