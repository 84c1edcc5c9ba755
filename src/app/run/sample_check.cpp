#include "app/run/sample_check.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "base/options/number_text.h"
#include "data/images/bad_images.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr const char* kFingerprints = "images looked at";
constexpr const char* kLeftOut = "images left out";
constexpr std::size_t kMostNoted = 16384;  // most bytes of names, because a manifest is a small file

constexpr char kEnd = '\0';  // end of a text; names and messages never contain it

std::string pack(const CheckedSamples& checked) {
  std::string text = std::to_string(checked.looked_at) + kEnd;
  for (const std::string& each : checked.fingerprints) text += each + ' ';
  text += kEnd;
  for (const BadSample& bad : checked.bad) text += bad.name + kEnd + bad.message + kEnd;
  return text;
}

std::vector<std::string> texts_in(const std::string& packed) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t end = packed.find(kEnd, at);
    texts.push_back(packed.substr(at, end - at));
    at = end == std::string::npos ? packed.size() : end + 1;
  }
  return texts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

CheckedSamples unpack(const std::string& packed) {
  const std::vector<std::string> texts = texts_in(packed);
  EAVE_CHECK(texts.size() >= 2 && texts.size() % 2 == 0, "what ranks have looked at is whole");
  CheckedSamples checked{std::stoll(texts[0]), 0, {}, words_of(texts[1])};
  for (std::size_t i = 2; i < texts.size(); i += 2) checked.bad.push_back({texts[i], texts[i + 1]});
  return checked;
}

// This rank's position among the ranks of its host.
struct Share {
  int part = 0, parts = 0;
};

Share share_of(int rank, const std::vector<std::string>& hosts) {
  Share share;
  const std::string& mine = hosts[static_cast<std::size_t>(rank)];
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] != mine) continue;
    if (static_cast<int>(other) < rank) ++share.part;
    ++share.parts;
  }
  return share;
}

std::vector<std::string> fingerprints_of_hosts(Transport& transport, const std::vector<std::string>& hosts,
                                               const SampleFiles& files, const OptionValues& values) {
  std::string mine;
  agree(transport, [&] {
    if (share_of(transport.rank(), hosts).part == 0) mine = files.fingerprint(values);
  });
  std::set<std::string> all;
  for (const std::string& each : transport.all_gather(mine)) {
    if (!each.empty()) all.insert(each);
  }
  return {all.begin(), all.end()};
}

// Merges the results of all ranks. A sample may be bad on several hosts, for different reasons.
CheckedSamples together(const std::vector<std::string>& packed) {
  CheckedSamples all;
  std::map<std::string, std::string> bad;
  for (const std::string& each : packed) {
    const CheckedSamples of_rank = unpack(each);
    all.looked_at = std::max(all.looked_at, of_rank.looked_at);
    for (const BadSample& one : of_rank.bad) bad.try_emplace(one.name, one.message);
  }
  for (const auto& [name, message] : bad) all.bad.push_back({name, message});
  return all;
}

}  // namespace

CheckedSamples look_at_samples(Transport& transport, const std::vector<std::string>& hosts, const SampleFiles& files,
                               const OptionValues& values, const std::function<void()>& moved) {
  const auto begin = std::chrono::steady_clock::now();
  CheckedSamples mine;
  agree(transport, [&] {
    const Share share = share_of(transport.rank(), hosts);
    SampleCheck check = files.check(values, share.part, share.parts, moved);
    mine.looked_at = check.looked_at;
    mine.bad = std::move(check.bad);
  });
  CheckedSamples all = together(transport.all_gather(pack(mine)));
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

CheckedSamples check_samples(Transport& transport, const std::vector<std::string>& hosts, const OptionValues& values,
                             const CheckedSamples& remembered, const std::function<void()>& moved) {
  const SampleFiles* const files = find_kind(dataset_kinds(), values.text("data")).files;
  if (files == nullptr || values.text("on-bad-image") == "late") return {};
  std::vector<std::string> now = fingerprints_of_hosts(transport, hosts, *files, values);
  CheckedSamples checked = unpack(transport.broadcast_text(pack(remembered)));
  if (checked.looked_at == 0 || !std::ranges::includes(checked.fingerprints, now)) {
    checked = look_at_samples(transport, hosts, *files, values, moved);
    checked.fingerprints = std::move(now);
  }
  agree(transport, [&] {
    if (values.text("on-bad-image") == "refuse") refuse_bad_samples(checked.bad, checked.looked_at);
  });
  return checked;
}

DataSplit open_data_of_run(const OptionValues& values, const CheckedSamples& checked) {
  const DatasetKind& kind = find_kind(dataset_kinds(), values.text("data"));
  DataSplit data = checked.bad.empty() ? kind.open(values) : kind.files->open_without(values, checked.bad);
  if (values.has("validation-share")) hold_out(data, values.real("validation-share"));
  hash_identity(data);
  return data;
}

std::map<std::string, std::string> notes_of(const CheckedSamples& checked) {
  std::string words = std::to_string(checked.looked_at), names;
  for (const std::string& each : checked.fingerprints) words += " " + each;
  for (const BadSample& bad : checked.bad) names += bad.name + "\n";
  const auto is_plain = [](char letter) { return letter == '\n' || (letter >= ' ' && letter < 0x7f); };
  const auto lines = static_cast<std::size_t>(std::ranges::count(names, '\n'));
  if (checked.looked_at == 0 || names.size() > kMostNoted || lines != checked.bad.size() ||
      !std::ranges::all_of(names, is_plain)) {
    return {};
  }
  return {{kFingerprints, words}, {kLeftOut, names}};
}

CheckedSamples checked_in(const std::map<std::string, std::string>& notes) {
  const auto found = notes.find(kFingerprints), names = notes.find(kLeftOut);
  if (found == notes.end() || names == notes.end()) return {};
  std::vector<std::string> words = words_of(found->second);
  if (words.size() < 2 || words[0].size() > 15 || words[0].find_first_not_of("0123456789") != std::string::npos)
    return {};
  CheckedSamples checked{std::stoll(words[0]), 0, {}, {words.begin() + 1, words.end()}};
  std::ranges::sort(checked.fingerprints);
  std::istringstream lines(names->second);
  for (std::string name; std::getline(lines, name);)
    checked.bad.push_back({name, "the image " + name + " was found damaged when the run began"});
  return checked;
}

std::string describe_check(const CheckedSamples& checked) {
  if (checked.looked_at == 0) return "";
  const auto whole = static_cast<long long>(checked.looked_at - std::ssize(checked.bad));
  const std::string found =
      format("%lld of %s %s whole", whole, count_text(checked.looked_at, "image").c_str(), whole == 1 ? "is" : "are");
  return found + (checked.seconds > 0 ? format(" (decoded in %.1f s)", checked.seconds)
                                      : " (decoded when the run began; their files have not changed since)");
}

}  // namespace eave
