// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/devices.h"

#include <algorithm>
#include <limits>
#include <set>

#include "nccl_env/core/fabric/description.h"
#include "nccl_env/node/sysfs_facts.h"
#include "sysfs_values.h"

namespace nccl_env::node {
namespace {

constexpr int kMaxNodeType = 255;
constexpr int kMaxDevPort = 65535;
constexpr std::size_t kMostProblems = 100;  // nobody reads more

// Bounds what may still be read.
struct Room {
  std::size_t ports, rows;
};

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Kernel software devices have no parent device: rxe and siw live in devices/virtual.
std::optional<std::string> soft_driver(const std::string& target, const std::string& description) {
  if (!target.starts_with("devices/virtual/")) return std::nullopt;
  return description.starts_with("Software iWARP") ? "siw" : "rxe";
}

template <class Value>
std::optional<Value> fact_in(const std::string& text, const described::Text<Value>& kind) {
  auto value = kind.parse(text);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}
std::optional<int> fact_in(const std::string& text, described::Int kind) {
  const auto number = parse_number(text, kind.most);
  return number && *number >= kind.least ? number : std::nullopt;
}

class DeviceReader {
 public:
  DeviceReader(const Sysfs& sysfs, std::string name, Problems& problems, Room& room)
      : sysfs_(sysfs), problems_(problems), room_(room), path_("class/infiniband/" + name) {
    device_.shared.hca = std::move(name);
  }

  RdmaDevice read() {
    device_.node_type =
        parsed("node_type", [](const std::string& text) { return leading_number(text, kMaxNodeType); });
    std::apply([&](const auto&... fact) { (read_fact(fact), ...); }, kSysfsFacts);
    read_parent();
    read_netdevs();
    read_ports();
    return std::move(device_);
  }

 private:
  // Attributes that not every driver has: absent without a problem.
  template <class Parse>
  auto parsed(const std::string& attribute, Parse parse) -> decltype(parse(std::string())) {
    const auto text = sysfs_.read(path_ + "/" + attribute);
    return text ? parse(*text) : std::nullopt;
  }

  template <class Value>
  void read_fact(const SysfsFact<Value>& fact) {
    described::visit_field(fact.member, [&](const auto& field) {
      device_.shared.*fact.member = parsed(std::string(fact.attribute), [&](const std::string& text) {
        return text == fact.none ? std::nullopt : fact_in(text, field.kind);
      });
    });
  }

  // Attributes that every port has.
  template <class Parse>
  auto required(const std::string& attribute, Parse parse) -> decltype(parse(std::string())) {
    const auto text = sysfs_.read(path_ + "/" + attribute);
    if (!text) {
      problem(attribute, text.error().message);
      return std::nullopt;
    }
    auto value = parse(*text);
    if (!value) problem(attribute, "'" + text->substr(0, 40) + "' is not understood");
    return value;
  }

  void problem(const std::string& attribute, const std::string& what) {
    if (problems_.size() < kMostProblems)
      problems_.push_back(device_.shared.hca + " " + attribute + ": " + what);
  }

  void read_parent() {
    const auto parent = sysfs_.resolve(path_ + "/device");
    if (!parent) {
      const auto self = sysfs_.resolve(path_);
      const auto description = sysfs_.read(path_ + "/node_desc");
      if (self) device_.shared.driver = soft_driver(*self, description ? *description : "");
      return;
    }
    device_.shared.pci_address = pci_address_of(*parent);
    if (const auto driver = sysfs_.resolve(path_ + "/device/driver"))
      device_.shared.driver = parse_label(last_part(*driver));
    if (const auto pf = sysfs_.resolve(path_ + "/device/physfn")) {
      device_.shared.pf_pci_address = pci_address_of(*pf);
    } else if (sysfs_.read(path_ + "/device/sriov_totalvfs")) {
      device_.shared.pf_pci_address = "";  // a PF; a VF in a virtual machine has neither of the two
    }
  }

  void read_netdevs() {
    if (const auto names = sysfs_.list(path_ + "/device/net")) {
      for (const std::string& name : *names) {
        if (!is_netdev_name(name)) continue;
        device_.netdevs.push_back(
            {name, parsed("device/net/" + name + "/dev_port",
                          [](const std::string& text) { return parse_number(text, kMaxDevPort); })});
      }
    } else if (const auto parent = sysfs_.read(path_ + "/parent"); parent && is_netdev_name(*parent)) {
      device_.netdevs.push_back({*parent, std::nullopt});  // rxe, siw
    }
  }

  void read_ports() {
    const auto names = sysfs_.list(path_ + "/ports");
    if (!names) return problem("ports", names.error().message);
    for (const std::string& name : *names) {
      const auto number = parse_number(name, 255);
      if (!number || *number <= 0) continue;
      if (room_.ports == 0) {
        problem("ports/" + name, "beyond what a table holds");
        break;
      }
      --room_.ports;
      device_.ports.push_back(read_port(*number));
    }
    std::ranges::sort(device_.ports, {}, &DevicePort::number);
  }

  DevicePort read_port(int number) {
    DevicePort port{device_.shared, {}, {}};
    port.number = number;
    const std::string base = "ports/" + std::to_string(number) + "/";
    port.link_layer = required(base + "link_layer", parse_link_layer);
    if (const auto state =
            required(base + "state", [](const std::string& t) { return leading_number(t, 255); }))
      port.state = parse_state(*state);
    if (const auto rate = parsed(base + "rate", parse_rate))
      (rate->sdr ? port.sdr_rate_gbps : port.rate_gbps) = rate->gbps;
    if (port.link_layer == LinkLayer::Ethernet)
      port.traffic_class = parsed("tc/" + std::to_string(number) + "/traffic_class", parse_traffic_class);
    read_gids(base, port);
    if (port.link_layer == LinkLayer::InfiniBand) read_pkeys(base, port);
    return port;
  }

  void read_gids(const std::string& base, DevicePort& port) {
    const auto names = sysfs_.list(path_ + "/" + base + "gids");
    if (!names) return problem(base + "gids", names.error().message);
    port.gid_table_length = static_cast<int>(names->size());
    port.entries.emplace();
    bool complete = true;
    for (const std::string& name : *names) {
      if (room_.rows == 0) {
        problem(base + "gids", "beyond what a table holds");
        return port.entries.reset();
      }
      const auto index = parse_number(name, kMaxGidIndex);
      if (index) complete = read_row(base, *index, port) && complete;
    }
    // An incomplete read does not prove that there are none.
    if (!complete && port.entries->empty()) return port.entries.reset();
    std::ranges::sort(*port.entries, {}, &GidEntry::index);
  }

  // Reads the first kMaxPortKeys entries, as many as HCAs have; hundreds of them are empty on most ports.
  void read_pkeys(const std::string& base, DevicePort& port) {
    const auto names = sysfs_.list(path_ + "/" + base + "pkeys");
    if (!names) return;  // as in a container's /sys
    std::vector<PartitionKey> keys;
    for (const std::string& name : *names) {
      const auto index = parse_number(name, static_cast<int>(kMaxPortKeys) - 1);
      if (!index) continue;
      const auto key = required(base + "pkeys/" + name, parse_pkey);
      if (!key) return;
      if ((*key & 0x7fffU) != 0) keys.push_back({*index, *key});
    }
    std::ranges::sort(keys, {}, &PartitionKey::index);
    port.pkeys = std::move(keys);
  }

  bool read_row(const std::string& base, int index, DevicePort& port) {
    const std::string number = std::to_string(index);
    const auto text = sysfs_.read(path_ + "/" + base + "gids/" + number);
    const auto gid = text ? parse_gid(*text) : Result<Gid>(text.error());
    if (!gid) {
      --room_.rows;
      problem(base + "gids/" + number, gid.error().message);
      return false;
    }
    if (gid->is_zero()) return true;
    GidEntry entry{index, *gid, {}, {}, {}};
    // Both reads fail with EINVAL for a row that was just emptied, and may fail for another namespace's.
    entry.type = parsed(base + "gid_attrs/types/" + number,
                        [v1 = first_type(port)](const std::string& t) { return parse_gid_type(t, v1); });
    entry.netdev = parsed(base + "gid_attrs/ndevs/" + number, [](const std::string& t) {
      return is_netdev_name(t) ? std::optional(t) : std::nullopt;
    });
    port.entries->push_back(std::move(entry));
    --room_.rows;
    return true;
  }

  // Returns the type that "IB/RoCE v1" means on this port: IB on InfiniBand and iWARP.
  [[nodiscard]] std::optional<GidType> first_type(const DevicePort& port) const {
    constexpr int kChannelAdapter = 1;
    if (!port.link_layer || !device_.node_type) return std::nullopt;
    const bool roce = port.link_layer == LinkLayer::Ethernet && device_.node_type == kChannelAdapter;
    return roce ? GidType::RoCEv1 : GidType::IB;
  }

  const Sysfs& sysfs_;
  Problems& problems_;
  Room& room_;
  const std::string path_;
  RdmaDevice device_;
};

// Marks devices without a uverbs device, which no program can open, where others have one.
void mark_closed(const Sysfs& sysfs, std::vector<RdmaDevice>& devices) {
  const std::string folder = "class/infiniband_verbs";
  std::set<std::string> open;
  const auto names = sysfs.list(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    if (const auto device = sysfs.read(folder + "/" + name + "/ibdev")) open.insert(*device);
  }
  for (RdmaDevice& device : devices) {
    if (open.empty() || open.contains(device.shared.hca)) continue;
    for (DevicePort& port : device.ports) port.unavailable = Unavailable::NoVerbs;
  }
}

}  // namespace

std::vector<RdmaDevice> read_devices(const Sysfs& sysfs, Problems& problems, bool bounded) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  Room room = bounded ? Room{kMaxTablePorts, kMaxTableRows} : Room{kAll, kAll};
  std::vector<RdmaDevice> devices;
  const auto names = sysfs.list("class/infiniband");
  if (!names) return devices;  // no RDMA in this kernel
  for (const std::string& name : *names) {
    if (room.ports == 0) break;
    if (!is_hca_name(name)) {
      problems.push_back("'" + name + "' is not a name that NCCL's lists could hold: left out");
      continue;
    }
    // A device that is gone leaves nothing but its name in the list.
    if (!sysfs.list("class/infiniband/" + name)) {
      problems.push_back(name + ": gone while it was read");
      continue;
    }
    devices.push_back(DeviceReader(sysfs, name, problems, room).read());
  }
  mark_closed(sysfs, devices);
  return devices;
}

}  // namespace nccl_env::node
