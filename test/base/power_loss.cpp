#include "test/base/power_loss.h"

namespace eave {

namespace fs = std::filesystem;

std::pair<int, std::string> RecordedCalls::place_of(const Disk& disk, const std::string& path) {
  int directory = 0;
  std::string last;
  for (const fs::path& part : fs::path(path)) {
    if (!last.empty()) directory = disk.nodes[static_cast<std::size_t>(directory)].names.at(last);
    last = part == "." ? "" : part.string();
  }
  return {directory, last};
}

void RecordedCalls::change(Disk& disk, Change change) {
  auto& names = disk.nodes[static_cast<std::size_t>(change.directory)].names;
  if (!change.taken.empty()) names.erase(change.taken);
  if (!change.put.empty()) names[change.put] = change.node;
  disk.changes.push_back(std::move(change));
}

void RecordedCalls::apply(Disk& disk, const Call& call, std::size_t index) {
  const auto node_of = [&](const std::string& path) {
    const auto [directory, name] = place_of(disk, path);
    return name.empty() ? 0 : disk.nodes[static_cast<std::size_t>(directory)].names.at(name);
  };
  const auto add = [&](bool is_directory) {
    const auto [directory, name] = place_of(disk, call.path);
    disk.nodes.push_back({is_directory, "", "", {}});
    change(disk, {index, directory, "", name, static_cast<int>(disk.nodes.size()) - 1});
    return static_cast<int>(disk.nodes.size()) - 1;
  };
  switch (call.kind) {
    case Call::kCreate:
      disk.open[call.file] = add(false);
      break;
    case Call::kMakeDirectory:
      add(true);
      break;
    case Call::kWrite:
      disk.nodes[static_cast<std::size_t>(disk.open.at(call.file))].content += call.bytes;
      break;
    case Call::kOpenDirectory:
      disk.open[call.file] = node_of(call.path);
      break;
    case Call::kFlush: {
      const int node = disk.open.at(call.file);
      disk.nodes[static_cast<std::size_t>(node)].flushed = disk.nodes[static_cast<std::size_t>(node)].content;
      for (Change& each : disk.changes) each.is_flushed |= each.directory == node;
      break;
    }
    case Call::kRename: {
      const auto [directory, name] = place_of(disk, call.path);
      change(disk, {index, directory, name, place_of(disk, call.to).second, node_of(call.path)});
      break;
    }
    case Call::kRemove: {
      const auto [directory, name] = place_of(disk, call.path);
      change(disk, {index, directory, name, "", -1});
      break;
    }
    case Call::kMark:
      disk.mark = call.step;
      break;
  }
}

void RecordedCalls::put(const Disk& disk, int node, const Loss& loss, const fs::path& path) {
  const Node& each = disk.nodes[static_cast<std::size_t>(node)];
  if (each.is_directory) {
    fs::create_directory(path);
    for (const auto& [name, inside] : each.names) put(disk, inside, loss, path / name);
    return;
  }
  std::string content = loss.data == Data::kKept ? each.content : each.flushed;
  if (loss.data == Data::kTorn && each.flushed.size() < each.content.size()) {
    content = each.content.substr(0, (each.flushed.size() + each.content.size()) / 2);
    content.resize(each.content.size(), '\0');
  }
  std::ofstream(path, std::ios::binary) << content;
}

std::int64_t RecordedCalls::replay(const Loss& loss, const fs::path& root) const {
  Disk disk;
  for (std::size_t i = 0; i < loss.calls; ++i) apply(disk, calls_[i], i);
  for (Node& node : disk.nodes) node.names.clear();
  const std::vector<Change> changes = std::exchange(disk.changes, {});
  for (const Change& each : changes) {
    if (each.is_flushed || each.call < loss.names_kept) change(disk, each);
  }
  put(disk, 0, loss, root);
  return disk.mark;
}

}  // namespace eave
