// SPDX-License-Identifier: Apache-2.0
// Verbs that answer what the test says, and record what was opened and closed.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/node/verbs.h"

namespace nccl_env::tests {

struct ScriptedDevice {
  std::string open_error;
  std::string rows_error;
  std::map<int, node::VerbsPortAttributes> ports;  // others fail
  std::vector<node::VerbsGid> rows;
  std::deque<node::VerbsEvent> events;
  int descriptor = 7;
  int opened = 0;
  int closed = 0;
};

class ScriptedVerbs : public node::Verbs {
 public:
  std::map<std::string, ScriptedDevice> devices;
  std::string list_error;

  Result<std::vector<std::unique_ptr<node::VerbsDevice>>> list() override {
    if (!list_error.empty()) return Error{list_error};
    std::vector<std::unique_ptr<node::VerbsDevice>> listed;
    for (auto& [name, device] : devices) listed.push_back(std::make_unique<Listed>(name, device));
    return listed;
  }

 private:
  class Open : public node::VerbsContext {
   public:
    Open(std::string name, ScriptedDevice& device) : name_(std::move(name)), device_(device) {
      ++device_.opened;
    }
    ~Open() override { ++device_.closed; }

    Result<node::VerbsPortAttributes> query_port(int port) override {
      const auto found = device_.ports.find(port);
      if (found == device_.ports.end()) return Error{name_ + ": ibv_query_port: Input/output error"};
      return found->second;
    }
    Result<std::vector<node::VerbsGid>> query_gid_table() override {
      if (!device_.rows_error.empty()) return Error{name_ + ": " + device_.rows_error};
      return device_.rows;
    }
    int event_descriptor() const override { return device_.descriptor; }
    std::optional<node::VerbsEvent> next_event() override {
      if (device_.events.empty()) return std::nullopt;
      node::VerbsEvent event = device_.events.front();
      device_.events.pop_front();
      return event;
    }

   private:
    const std::string name_;
    ScriptedDevice& device_;
  };

  class Listed : public node::VerbsDevice {
   public:
    Listed(std::string name, ScriptedDevice& device) : name_(std::move(name)), device_(device) {}
    [[nodiscard]] std::string name() const override { return name_; }
    Result<std::unique_ptr<node::VerbsContext>> open() override {
      if (!device_.open_error.empty()) return Error{name_ + ": ibv_open_device: " + device_.open_error};
      return std::unique_ptr<node::VerbsContext>(std::make_unique<Open>(name_, device_));
    }

   private:
    const std::string name_;
    ScriptedDevice& device_;
  };
};

}  // namespace nccl_env::tests
