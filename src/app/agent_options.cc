// SPDX-License-Identifier: Apache-2.0
#include "agent_options.h"

#include <CLI/CLI.hpp>

#include "nccl_env/app/version.h"

namespace nccl_env::app {
namespace {

CLI::Validator address(std::optional<IpAddress>& into) {
  return {[&into](std::string& text) {
            const auto parsed = parse_ip(text);
            if (parsed) into = *parsed;
            return parsed ? std::string() : parsed.error().message;
          },
          "ADDRESS"};
}

class AgentCommandLine {
 public:
  AgentCommandLine() {
    app_.set_version_flag("--version", "nccl-env-agent " + std::string(kVersion));
    app_.require_subcommand(1);
    add_show();
  }

  ParsedAgentOptions parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return {std::nullopt, app_.exit(error) == 0 ? 0 : 2};
    }
    return {arguments_, 0};
  }

 private:
  using Command = AgentArguments::Command;

  CLI::App& command(const std::string& name, const std::string& description, Command value) {
    CLI::App* added = app_.add_subcommand(name, description);
    added->callback([this, value] { arguments_.command = value; });
    return *added;
  }

  static void add_probe(CLI::App& app, ProbeArguments& into) {
    app.add_option("--sysfs", into.sysfs,
                   "Read a copy of /sys instead: no libibverbs, and interfaces without addresses")
        ->type_name("ROOT")
        ->check(CLI::ExistingDirectory);
  }

  void add_show() {
    AgentShowArguments& to = arguments_.show;
    CLI::App& app =
        command("show",
                "This node's devices, ports and GID rows: what show_gids, ibv_devinfo and ibdev2netdev "
                "tell together, and which of it is fabric.",
                Command::Show);
    add_probe(app, to.probe);
    app.add_option("--node-name", to.probe.node_name, "Name of the table; default: the host's name");
    app.add_option("--node-ip", node_ip_, "The Node's InternalIP: its interface is the node's own")
        ->check(address(to.probe.node_address));
    app.add_flag("!--no-verbs", to.probe.use_verbs, "Read sysfs alone");
    app.add_option("--policy", to.policy_file, "File with an NcclPolicy to judge by")->type_name("FILE");
    app.add_option("-o,--output", to.output,
                   "table: for people; json, yaml: the NodeFabric, or with --policy the verdicts")
        ->check(CLI::IsMember(std::vector<std::string>{"table", "json", "yaml"}))
        ->capture_default_str();
    app.footer("Exit codes: 0 there are devices, 1 an input was refused, 2 usage, 3 no devices.");
  }

  CLI::App app_{"Reads a node's RDMA devices and keeps its NodeFabric true.", "nccl-env-agent"};
  AgentArguments arguments_;
  std::string node_ip_;
};

}  // namespace

ParsedAgentOptions parse_agent_options(int argc, const char* const* argv) {
  return AgentCommandLine().parse(argc, argv);
}

}  // namespace nccl_env::app
