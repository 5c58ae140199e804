// SPDX-License-Identifier: Apache-2.0
#include "commands/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/judge/explain/template_answer.h"
#include "nccl_env/node/probe.h"
#include "nccl_env/node/sysfs.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/nccl_process.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// The resource by which the process counts as a pod that the policy matches.
constexpr const char* kResource = "nccl-env.io/machine";
constexpr const char* kProcess = "process";
constexpr const char* kMachine = "this-machine";  // in sentences, where a node has its name

// Variables that decide about ours, of other programs than NCCL and its kin.
bool is_related(std::string_view name) {
  return has_known_prefix(name) || name.starts_with("VLLM_") || name.starts_with("MC_");
}

// The entries that the user has set.
struct UsersEntries {
  Json entries = Json::array();
  std::map<std::string, std::string, std::less<>> files;  // by variable, of those that a file of NCCL's sets
};

UsersEntries users_entries() {
  program::NcclProcess process = program::read_nccl_process();
  UsersEntries entries{.files = std::move(process.files)};
  for (const auto& [name, value] : process.env) {
    if (is_related(name)) entries.entries.push_back({{"name", name}, {"value", value}});
  }
  std::erase_if(entries.files, [](const auto& file) { return !is_related(file.first); });
  return entries;
}

// The pod that stands for the process: on the node's network, with a device of the policy's. It has the
// machine's shared memory, and no manifest limits its locked memory.
std::string pod_text(const std::string& node, Json entries) {
  // A file that NCCL_CONF_FILE names is read here; in a pod it would hide what it holds.
  std::erase_if(entries.get_ref<Json::array_t&>(),
                [](const Json& entry) { return entry["name"] == variable::kConfFile; });
  const Json container{{"name", kProcess},
                       {"resources", {{"limits", {{kResource, "1"}}}}},
                       {"securityContext", {{"capabilities", {{"add", {"IPC_LOCK"}}}}}},
                       {"env", std::move(entries)},
                       {"volumeMounts", Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}})}};
  const Json volume{{"name", "shm"}, {"hostPath", {{"path", "/dev/shm"}}}};
  const Json spec{{"hostNetwork", true},
                  {"nodeName", node},
                  {"volumes", Json::array({volume})},
                  {"containers", Json::array({container})}};
  return dump_json(Json{{"metadata", {{"name", kProcess}, {"namespace", "default"}}}, {"spec", spec}});
}

// The policy for the process: as written, for every process of this machine and without carriers, since all
// goes into one environment.
std::shared_ptr<const NcclPolicy> policy_of(const std::shared_ptr<const NcclPolicy>& given,
                                            const std::optional<NcclVersion>& version,
                                            const std::vector<std::string>& engines,
                                            const std::vector<std::string>& hcas) {
  auto policy = std::make_shared<NcclPolicy>(given ? *given : NcclPolicy());
  if (policy->name.empty()) policy->name = "none";
  policy->mode = PolicyMode::Enforce;
  policy->resources = {{kResource, Exposure::Host}};
  policy->skip_resources.clear();
  if (!hcas.empty()) policy->fabric.hcas = hcas;
  policy->on_unresolved = OnUnresolved::Allow;  // nothing here waits for a Binding
  policy->deliver_env_file = true;
  if (version) policy->min_nccl = version;
  for (const Engine* engine : other_engines()) {
    const auto is_named = [&](const std::string& name) { return equal_ignoring_case(name, engine->name); };
    if (!policy->serves(*engine) && std::ranges::any_of(engines, is_named)) policy->engines.push_back(engine);
  }
  // The interface of this machine is known, and asked for by those who start by it.
  const bool unsaid = !given && policy->socket_interface.kind == SocketInterfaceRule::Kind::Omit;
  if (unsaid && policy->engines.size() > 1)
    policy->socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  return policy;
}

// The address from which this machine would answer the world, by its routes: nothing is sent.
std::optional<IpAddress> own_address() {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(9);
  peer.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1, of no network (RFC 5737)
  sockaddr_in own{};
  socklen_t length = sizeof own;
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  char text[INET_ADDRSTRLEN] = {};
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      ::inet_ntop(AF_INET, &own.sin_addr, text, sizeof text) == nullptr)
    return std::nullopt;
  const auto address = parse_ip(text);
  return address ? std::optional(*address) : std::nullopt;
}

// Checks the folder and the address; a copy of /sys has none.
program::Failure read_address(const MachineArguments& machine, std::optional<IpAddress>& into) {
  const std::string &sysfs = machine.sysfs, &address = machine.address;
  if (sysfs.empty() && address.empty()) {
    into = own_address();
    return {};
  }
  if (!sysfs.empty() && !address.empty())
    return {program::kUsage, "--address: a copy of /sys has no addresses; leave it or --sysfs out"};
  if (!sysfs.empty()) {
    std::error_code ignored;
    const std::filesystem::path devices = sysfs + "/class/infiniband";
    if (std::filesystem::is_directory(devices, ignored) && std::filesystem::is_empty(devices, ignored))
      return {program::kNothing,
              "--sysfs: " + devices.string() +
                  " is empty, a machine without HCAs; copy it with its links followed (cp -rL)"};
    if (std::filesystem::is_directory(sysfs + "/class", ignored)) return {};
    return {program::kUsage,
            "--sysfs: " + sysfs + " has no class/; give the folder that holds class/infiniband"};
  }
  const auto parsed = parse_ip(address);
  if (!parsed) return {program::kUsage, "--address " + address + ": " + parsed.error().message};
  into = *parsed;
  return {};
}

node::ProbeResult read_machine(const MachineArguments& machine, const std::optional<IpAddress>& address) {
  const auto sysfs = node::open_sysfs(machine.sysfs.empty() ? "/sys" : machine.sysfs);
  node::ProbeOptions options;
  options.sysfs = sysfs.get();
  options.captured = !machine.sysfs.empty();
  options.node_address = address;
  return node::probe(options);
}

constexpr std::string_view kShowPorts =
    "`rdma link` shows the ports, `show_gids` their rows: bring the ports up, give their netdevs addresses, "
    "or name the fabric's by --policy (spec.fabric).";
constexpr std::string_view kUnset = "Unset that variable, also in nccl.conf, to have the value given.";
constexpr std::string_view kUnread =
    "Look for what /sys/class/infiniband lacks: -o json names what could not be read.";

// The words for a machine where those for a cluster speak of pods, tables or agents.
constexpr std::pair<Code, std::string_view> kCodesHere[] = {
    {Code::FellBack, kShowPorts},
    {Code::RailDown,
     "`rdma link` shows the port, `show_gids` its rows: give the netdev of an Active one an address; of "
     "another, bring up the netdev, else check cable and switch port."},
    {Code::MixedLinks, "Name HCAs of one kind: in NCCL_IB_HCA, or by --policy (spec.fabric.linkLayer)."},
    {Code::EmptyGid,
     "Leave the index to NCCL (unset, or -1, from 2.21.5 on), or name a row that the port has (show_gids)."},
    {Code::NoInterface, "Name one that this machine has, as `ip address` shows."},
    {Code::DeviceNotAvailable, "Name a device that this machine has (ibv_devices), or unset the variable."},
    {Code::UserListShort,
     "Nothing, if it is meant so, equally on all ranks; else unset the variable to have this machine's "
     "list."},
};
constexpr std::pair<Reason, std::string_view> kReasonsHere[] = {
    {Reason::UserSet, kUnset},
    {Reason::UserSetGroup, kUnset},
    {Reason::DisabledByUser, "Unset NCCL_IB_DISABLE and NCCL_NET, also in nccl.conf."},
    {Reason::OmittedByPolicy, "Nothing to do; a policy (--policy) may ask for it."},
    {Reason::EngineCannotSay,
     "Nothing to do where the engine's own choice is right; else set the variable yourself."},
    {Reason::NoFabricPort, kShowPorts},
    {Reason::AmbiguousFabric,
     "Name the fabric's HCAs (--hcas NAME,NAME), or its netdevs or subnets by --policy (spec.fabric)."},
    {Reason::MixedLinkLayers, "Name one of the two by --policy: spec.fabric.linkLayer."},
    {Reason::TooManyHcas, "Name fewer: --hcas NAME,NAME."},
    {Reason::GidTableUnknown, kUnread},
    {Reason::PKeyUnknown, kUnread},
    {Reason::NodeInterfaceUnknown, "Set the interface yourself, or give --address (without --sysfs)."},
    {Reason::ConditionUnknown, "Take a policy whose spec.variants ask for no labels: a machine has none."},
};

// The words for the two variables that are left out without a policy, index and interface.
constexpr const char* kNotNeeded = "Not needed: NCCL's own search ends at a usable row on every port.";
constexpr const char* kNotAskedFor =
    "Not asked for: NCCL chooses an interface itself; a policy (--policy) gets this machine's own by "
    "socketInterface: FromNode.";

// The words for the place that sets a variable: "this environment", or its file.
std::string place_of(const UsersEntries& users, std::string_view variable) {
  const auto found = users.files.find(variable);
  return found == users.files.end() ? "this environment" : found->second;
}

std::string remedy_of_list(const UsersEntries& users) {
  const bool of_file = users.files.contains(variable::kIbHca);
  return "Unset NCCL_IB_HCA, " + (of_file ? "in " + place_of(users, variable::kIbHca) : "also in nccl.conf") +
         ", to have this machine's list, or name devices that it has (ibv_devices).";
}

void take_answer(const AnsweredPod& told, const NodeValues& values, const UsersEntries& users,
                 MachineEnv& into) {
  std::map<std::string, Value, std::less<>> given;
  for (const GivenContainer& container : told.record.containers) {
    if (container.name != kProcess) continue;
    for (const Value* value : container.effective()) {
      // No file is written here.
      if (value->state == State::Users || !value->value || value->value->empty() ||
          value->name == conf_file::kName || *value->value == conf_file::kFolder)
        continue;
      Value& added = given.try_emplace(value->name, *value).first->second;
      if (value->source == Source::Node || value->source == Source::File)
        added.value = values.env_text(value->name);
    }
    for (const Value& value : omitted_values(told.answer, told.record, container)) {
      if (value.name == conf_file::kName || !value.reason) continue;
      Value& omitted = into.omitted.emplace_back(value);
      if (!into.by_policy && value.reason == Reason::OmittedByPolicy)
        omitted.detail = value.name == variable::kIbGidIndex ? kNotNeeded : kNotAskedFor;
      if (value.reason == Reason::UserSet)
        omitted.detail = "It is set already, in " + place_of(users, value.name) + ".";
    }
  }
  for (auto& [name, value] : given) into.given.push_back(std::move(value));
  const auto disabled =
      std::ranges::find(into.omitted, std::optional(Reason::DisabledByUser), &Value::reason);
  if (disabled != into.omitted.end())
    into.disabled =
        disabled->detail + " No value for them is given; unset it, also in nccl.conf, to have them.";
  into.findings = told.answer.findings;
  for (Finding& finding : into.findings) {
    const auto here = std::ranges::find(kCodesHere, finding.code, [](const auto& row) { return row.first; });
    const Value* lacks = find_named(into.omitted, finding.subject.path);
    const bool of_node = lacks && scope_of(*lacks->reason) == ReasonScope::Node;
    const bool unset = finding.code == Code::NoInterface || finding.code == Code::ValuesDiffer;
    if (lacks && (finding.code == Code::NoList || (unset && of_node))) {
      finding.remedy = remedy_here(*lacks->reason);
    } else if (finding.code == Code::NoSuchDevice && finding.remedy.empty()) {
      finding.remedy = remedy_of_list(users);
    } else if (here != std::end(kCodesHere) && finding.remedy.empty()) {
      finding.remedy = here->second;
    }
  }
}

// Says which ports are Active, in the form of --hcas.
std::string states_of(const NodeFabric& table) {
  std::map<std::pair<bool, std::string_view>, std::vector<std::string>> hcas;
  for (const Port& port : table.ports) {
    if (port.unavailable) continue;
    hcas[{port.state != PortState::Active, to_string(link_layer_of(port).value_or(LinkLayer::Unspecified))}]
        .push_back(port.hca);
  }
  for (auto& [kind, names] : hcas) {
    std::ranges::sort(names, hca_name_less);
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  return join(hcas, "; ", [](const auto& of) {
    const auto& [kind, names] = of;
    return std::string(kind.first ? "not Active: " : "Active: ") + std::to_string(names.size()) + " x " +
           std::string(kind.second) + " " + join(names, ",");
  });
}

// A name that says no HCA of this machine would be missed in silence. What comes of it stands behind it.
void add_unmatched(const std::vector<std::string>& hcas, const NodeFabric& table, MachineEnv& into) {
  for (const std::string& glob : hcas) {
    const auto is_named = [&](const Port& port) { return glob_matches(glob, port.hca); };
    if (std::ranges::any_of(table.ports, is_named)) continue;
    into.findings.insert(into.findings.begin(),
                         {.code = Code::NoSuchDevice,
                          .sentence = "--hcas: this machine has no HCA \"" + glob + "\". " + into.ports + ".",
                          .remedy = "Name HCAs as /sys/class/infiniband does, or globs of them."});
  }
}

// A list may be meant to be short, so that it is no finding.
void tell_unlisted(const NodeFabric& table, const NcclVersion& version, MachineEnv& into) {
  const Value* list = find_named(into.given, variable::kIbHca);
  if (!list) return;
  const NcclNameList named = parse_nccl_name_list(*list->value, version, 64);
  std::set<std::string_view> all;
  for (const Port& port : table.ports) {
    if (!port.unavailable) all.insert(port.hca);
  }
  auto others = all;
  for (const Port& port : table.ports) {
    if (named.selects(port.hca, port.number)) others.erase(port.hca);
  }
  if (!others.empty())
    into.unlisted = "NCCL_IB_HCA leaves out " + std::to_string(others.size()) + " of this machine's " +
                    std::to_string(all.size()) + " HCAs: " + join_some(others, 8) + ".";
}

std::string nothing_here(const NodeFabric& table) {
  const auto of_verbs = [](const Port& port) { return link_layer_of(port) != LinkLayer::Unspecified; };
  const auto of_efa = [](const Port& port) { return port.driver == "efa"; };
  if (table.ports.empty()) return "this machine has no RDMA devices";
  if (std::ranges::any_of(table.ports, of_verbs)) return {};
  return std::string("NCCL does not reach this machine's devices through verbs") +
         (std::ranges::all_of(table.ports, of_efa)
              ? " (AWS EFA), but by the aws-ofi-nccl plugin, which needs none of these variables"
              : "");
}

}  // namespace

std::string_view remedy_here(Reason reason) {
  const auto here = std::ranges::find(kReasonsHere, reason, [](const auto& row) { return row.first; });
  return here == std::end(kReasonsHere) ? remedy(reason) : here->second;
}

void add_machine_options(CLI::App& app, MachineArguments& into) {
  app.add_option("--sysfs", into.sysfs, "Read a copy of /sys instead; interfaces then have no addresses")
      ->check(CLI::ExistingDirectory);
  app.add_option(
         "--address", into.address,
         "This machine's address: the interface that carries it is its own, not a rail; default: the one "
         "that its routes give")
      ->type_name("IP");
  app.add_option("--hcas", into.hcas, "The fabric's HCAs, by name or glob; default: the policy's, else found")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows, behind -- too, is the command
      ->type_name("NAME[,NAME...]");
  std::vector<std::string> names;
  for (const Engine* engine : other_engines()) {
    if (gives_values(*engine)) names.emplace_back(engine->name);
  }
  app.add_option("-e,--engines", into.engines, "Also values for these engines, in the words of each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names, CLI::ignore_case))
      ->type_name("NAME[,NAME...]");
  app.add_flag("-i,--ignore-environment", into.ignore_environment,
               "Do as if nothing were set: neither this environment nor nccl.conf");
}

program::Failure decide_environment(const MachineArguments& machine, std::istream& in, MachineEnv& into) {
  const auto& [policy, nccl_version, sysfs, own, ignore_environment, engines, hcas] = machine;
  const auto version = program::read_nccl_version(nccl_version);
  if (!version) return {program::kUsage, version.error().message};
  if (policy.file.empty() && !policy.name.empty())
    return {program::kUsage, "--policy-name: only with --policy"};
  std::optional<IpAddress> address;
  if (program::Failure failure = read_address(machine, address)) return failure;
  std::shared_ptr<const NcclPolicy> given;
  if (program::Failure failure = program::read_chosen_policy(policy, in, given)) return failure;
  const Timestamp now = program::clock_now();
  node::ProbeResult read = read_machine(machine, address);
  read.table.name = kMachine;
  read.table.time = now;
  const auto table = std::make_shared<const NodeFabric>(std::move(read.table));
  into.nothing = nothing_here(*table);
  into.by_policy = given != nullptr;
  into.ports = states_of(*table);
  into.problems = std::move(read.problems);

  const auto wanted =
      policy_of(given, nccl_version.empty() ? std::nullopt : std::optional(*version), engines, hcas);
  ReviewParser parser;
  const UsersEntries users = ignore_environment ? UsersEntries() : users_entries();
  const std::string text = pod_text(kMachine, users.entries);
  Result<Pod> pod = parser.parse_pod(text);
  if (!pod) return {program::kNotSeen, "the environment cannot be read: " + pod.error().message};
  for (Container& process : pod->containers)
    process.called = users.files.empty() ? "This environment" : "This environment or its nccl.conf";
  // Each value goes into the environment by itself, as by EnvFile.
  PlanOptions options;
  options.resolver = Resolver{"none", "", "", ""};
  const Plan plan = plan_pod(*pod, *wanted, options);
  PodSurroundings around;
  around.node = kMachine;
  around.policy = wanted;
  around.table = table;
  around.context.now = now;
  around.version = *version;
  const BindingPlan binding = plan_binding(wanted, kMachine, table.get(), around.context);
  take_answer(answer_template({*pod, parse_json(text), plan, std::move(around), &binding, options}),
              values_for(binding, Exposure::Host, true), users, into);
  add_unmatched(hcas, *table, into);
  tell_unlisted(*table, *version, into);
  return {};
}

}  // namespace nccl_env::cli
