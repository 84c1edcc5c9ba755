#include <algorithm>
#include <cctype>
#include <sstream>

#include "app/describe/help_formats.h"
#include "app/main/commands.h"

namespace eave {
namespace {

constexpr const char* kHead = R"(.SH NAME
eave \- elastic and synchronous averaging of model replicas, one per MPI rank
.SH SYNOPSIS
.B eave
.I COMMAND
.RI [ options ]
.br
.B mpirun \-np
.I P
.B eave train
.RI [ options ]
.SH DESCRIPTION
eave trains one model replica per MPI rank and keeps the replicas in agreement by a communicator that is chosen when the
job starts. In the description of an option, brackets hold the default. Names in parentheses are the methods, data sets
or other choices that use the option; eave refuses it with any other.
.SH COMMANDS
)";

constexpr const char* kTail = R"(.SH ENVIRONMENT
.TP
.BI EAVE_ OPTION
For
.BR train ,
.B compare
and its runs: the value of an option that the command line does not give. EAVE_BATCH=64 is \-\-batch 64.
eave ignores variables that Kubernetes or environment modules set for a service or module named eave, refuses a probable
misspelling of an option, and names all other unknown variables in one warning.
.TP
.B LIBEAVE_CUDA
The path of the module for GPUs, if it is not beside the program.
.SH EXIT STATUS
.TS
tab(|);
r lx.
0|T{
done
T}
64|T{
an option is unknown, has no effect, or contradicts another
T}
65|T{
a data file or checkpoint is damaged or not of the expected kind
T}
66|T{
an input file or directory does not exist
T}
69|T{
a rank or host was lost, or not all ranks are there
T}
70|T{
a bug in eave, or ranks whose values differ
T}
71|T{
memory, a device or MPI is not available
T}
73|T{
an output cannot be created
T}
74|T{
the disk is full, or a read or write failed
T}
75|T{
the run ended on request: run again with \-\-resume
T}
76|T{
training diverged
T}
78|T{
model, data and ranks do not fit together
T}
.TE
.SH SEE ALSO
.BR mpirun (1)
)";

// Escapes text for troff. A line that begins with . or ' would be a request, and a hyphen would become a dash.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char character : text)
    result += character == '\\' ? "\\e" : character == '-' ? "\\-" : std::string(1, character);
  return !text.empty() && (text.front() == '.' || text.front() == '\'') ? "\\&" + result : result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string item(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + escaped(text) + "\n";
}

// Usage has lines up to the first empty one, then sentences.
std::string describe_usage(const std::string& usage) {
  constexpr std::size_t kIndent = 7;  // "usage: "
  std::istringstream lines(usage);
  std::string text = ".nf\n";
  bool is_synopsis = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) text += is_synopsis ? ".fi\n.PP\n" : ".PP\n";
    if (!line.empty()) text += escaped(is_synopsis ? line.substr(kIndent) : line) + "\n";
    if (line.empty()) is_synopsis = false;
  }
  return text + (is_synopsis ? ".fi\n" : "");
}

std::string describe_group(const CommandLine& line, const CommandLine::Group& group) {
  std::string text = ".SS \"" + escaped(group.title) + "\"\n";
  for (const OptionSpec& option : group.options) {
    text += item("\\fB\\-\\-" + escaped(option.name) + "\\fR \\fI" + escaped(CommandLine::value_hint(option)) + "\\fR",
                 line.explain(option));
    if (&option != &group.options.front() || group.members.empty()) continue;
    text += ".RS\n";
    for (const auto& [name, summary] : group.members) text += item("\\fB" + escaped(name) + "\\fR", summary);
    text += ".RE\n";
  }
  return text;
}

std::string describe_command(const NamedCommand& command) {
  const CommandLine line = command.options();
  std::string text = ".SH EAVE " + upper(escaped(command.name)) + "\n" + describe_usage(line.usage());
  for (const CommandLine::Group& group : line.groups()) text += describe_group(line, group);
  return text;
}

}  // namespace

std::string manual_page() {
  std::string text = "'\\\" t\n.\\\" Written by: eave help --format man\n.TH EAVE 1 \"\" \"eave " EAVE_VERSION
                     "\" \"User Commands\"\n.ad l\n.nh\n";
  text += kHead;
  for (const NamedCommand& command : commands()) text += item("\\fB" + escaped(command.name) + "\\fR", command.summary);
  for (const NamedCommand& command : commands()) text += describe_command(command);
  return text + kTail;
}

}  // namespace eave
