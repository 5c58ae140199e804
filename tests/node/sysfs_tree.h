// SPDX-License-Identifier: Apache-2.0
// Sysfs from memory: files and links by path, and what happens when one is read.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generate/sysfs_facts.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/sysfs.h"

namespace nccl_env::tests {

class SysfsTree : public node::Sysfs {
 public:
  SysfsTree& file(const std::string& path, const std::string& content) {
    files_[real(path)] = content;
    return *this;
  }
  // Both from the root on.
  SysfsTree& link(const std::string& path, const std::string& target) {
    links_[path] = target;
    return *this;
  }
  void remove(const std::string& path) {
    const std::string below = real(path) + "/";
    std::erase_if(files_, [&](const auto& entry) { return (entry.first + "/").starts_with(below); });
    std::erase_if(links_, [&](const auto& entry) { return (entry.first + "/").starts_with(path + "/"); });
  }
  // Called before each read of an attribute, with its real path.
  std::function<void(const std::string&)> on_read;
  // Paths whose read fails as the kernel's do.
  std::set<std::string> invalid;

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    const std::string target = real(path);
    if (on_read) on_read(target);
    const auto found = files_.find(target);
    if (invalid.contains(path) || invalid.contains(target)) return Error{path + ": Invalid argument"};
    if (found == files_.end()) return Error{path + ": No such file or directory"};
    std::string text = found->second.substr(0, 4096);
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }

  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const override {
    const std::string below = real(path) + "/";
    std::set<std::string> names;
    const auto add = [&](const std::string& entry) {
      if (entry.starts_with(below))
        names.insert(entry.substr(below.size(), entry.find('/', below.size()) - below.size()));
    };
    for (const auto& [name, content] : files_) add(name);
    for (const auto& [name, target] : links_) add(name);
    if (names.empty()) return Error{path + ": No such file or directory"};
    return std::vector<std::string>(names.begin(), names.end());
  }

  [[nodiscard]] Result<std::string> resolve(const std::string& path) const override {
    const std::string target = real(path);
    if (files_.contains(target) || list(path)) return target;
    return Error{path + ": No such file or directory"};
  }

  // The same on disk, for programs that are run.
  void write_to(const std::filesystem::path& root) const {
    for (const auto& [name, content] : files_) {
      std::filesystem::create_directories((root / name).parent_path());
      std::ofstream(root / name) << content << '\n';
    }
    for (const auto& [name, target] : links_) {
      std::filesystem::create_directories((root / name).parent_path());
      const auto from = (root / name).parent_path();
      std::filesystem::create_symlink((root / target).lexically_relative(from), root / name);
    }
  }

 private:
  // Links on the way are followed, as often as the kernel does.
  [[nodiscard]] std::string real(std::string path) const {
    for (int followed = 0; followed < 40; ++followed) {
      bool again = false;
      for (const auto& [name, target] : links_) {
        if (path != name && !path.starts_with(name + "/")) continue;
        path = target + path.substr(name.size());
        again = true;
        break;
      }
      if (!again) break;
    }
    return path;
  }

  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
};

struct TreeRow {
  int index = 0;
  std::string gid;
  std::string type = "RoCE v2";
  std::string netdev;  // "": its read fails
};

// An HCA as ConnectX shows it, one port.
struct TreeHca {
  std::string name;
  std::string pci = "0000:53:00.0";
  std::string driver = "mlx5_core";
  std::string netdev = {};  // "": none
  std::string link_layer = "Ethernet";
  std::string state = "4: ACTIVE";
  std::string rate = "200 Gb/sec (4X HDR)";
  std::string node_type = "1: CA";
  std::string board_id = "MT_0000000223";
  std::vector<TreeRow> rows = {};
  int table_length = 8;
};

inline void add_port(SysfsTree& tree, const TreeHca& hca, int number) {
  const std::string port = "class/infiniband/" + hca.name + "/ports/" + std::to_string(number) + "/";
  tree.file(port + "link_layer", hca.link_layer)
      .file(port + "state", hca.state)
      .file(port + "rate", hca.rate);
  for (int i = 0; i < hca.table_length; ++i)
    tree.file(port + "gids/" + std::to_string(i), "0000:0000:0000:0000:0000:0000:0000:0000");
  for (const TreeRow& row : hca.rows) {
    const std::string index = std::to_string(row.index);
    tree.file(port + "gids/" + index, format_gid(*parse_gid(row.gid)));
    if (!row.type.empty()) tree.file(port + "gid_attrs/types/" + index, row.type);
    if (!row.netdev.empty()) tree.file(port + "gid_attrs/ndevs/" + index, row.netdev);
  }
}

inline void add_hca(SysfsTree& tree, const TreeHca& hca) {
  const std::string function = "devices/pci0000:50/" + hca.pci;
  const std::string device = function + "/infiniband/" + hca.name;
  tree.link("class/infiniband/" + hca.name, device);
  tree.link(device + "/device", function);
  tree.link(function + "/driver", "bus/pci/drivers/" + hca.driver);
  tree.file("bus/pci/drivers/" + hca.driver + "/new_id", "");
  tree.file(function + "/sriov_totalvfs", "16").file(device + "/node_type", hca.node_type);
  generate::each_sysfs_fact([&](std::string_view attribute, const std::string& example) {
    tree.file(device + "/" + std::string(attribute), example);
  });
  if (hca.board_id.empty()) {
    tree.remove(device + "/board_id");
  } else {
    tree.file(device + "/board_id", hca.board_id);
  }
  if (!hca.netdev.empty()) {
    tree.file(function + "/net/" + hca.netdev + "/dev_port", "0");
    tree.link("class/net/" + hca.netdev, function + "/net/" + hca.netdev);
  }
  add_port(tree, hca, 1);
}

// The four rows of one IPv4 address on ConnectX.
inline std::vector<TreeRow> usual_tree_rows(const std::string& address, const std::string& netdev) {
  return {{0, "fe80::1", "IB/RoCE v1", netdev},
          {1, "fe80::1", "RoCE v2", netdev},
          {2, "::ffff:" + address, "IB/RoCE v1", netdev},
          {3, "::ffff:" + address, "RoCE v2", netdev}};
}

}  // namespace nccl_env::tests
