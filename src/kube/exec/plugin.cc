// SPDX-License-Identifier: Apache-2.0
#include "exec/plugin.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exec/json_field.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";
// Whose extension of a cluster is for plugins.
constexpr const char* kExtension = "client.authentication.k8s.io/exec";
constexpr std::size_t kMaxHint = 1024;  // of people's text: those of the clouds are a sentence and a link

// A C string would end there.
bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

// It is printed: on one line, without what a terminal would obey.
std::string plain(std::string text) {
  if (text.size() > kMaxHint) text.resize(kMaxHint);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Status read_command(const Json& exec, const fs::path& base, ExecPlugin& plugin) {
  auto command = text_of(exec, "command");
  if (!command) return command.error();
  if (command->empty() || has_nul(*command)) return Error{"command: must name a program"};
  const bool is_path = command->find('/') != std::string::npos;
  plugin.command = is_path ? (base / *command).string() : *std::move(command);
  return done();
}

Status read_args(const Json& exec, ExecPlugin& plugin) {
  const auto args = exec.find("args");
  if (args == exec.end() || args->is_null()) return done();
  if (!args->is_array()) return Error{"args: must be a list of strings"};
  for (const Json& arg : *args) {
    if (!arg.is_string() || has_nul(arg.get_ref<const std::string&>()))
      return Error{"args: must be a list of strings"};
    plugin.args.push_back(arg.get<std::string>());
  }
  return done();
}

Status read_env(const Json& exec, ExecPlugin& plugin) {
  const auto env = exec.find("env");
  if (env == exec.end() || env->is_null()) return done();
  if (!env->is_array()) return Error{"env: must be a list of names and values"};
  for (const Json& variable : *env) {
    if (!variable.is_object()) return Error{"env: must be a list of names and values"};
    auto name = text_of(variable, "name");
    if (!name) return Error{"env: " + name.error().message};
    auto value = text_of(variable, "value");
    if (!value) return Error{"env: " + value.error().message};
    if (name->empty() || name->find('=') != std::string::npos || has_nul(*name) || has_nul(*value))
      return Error{"env: a variable's name must not be empty or hold '=', nor its value a zero byte"};
    plugin.env.emplace_back(*std::move(name), *std::move(value));
  }
  return done();
}

Status read_version(const Json& exec, ExecPlugin& plugin) {
  auto version = text_of(exec, "apiVersion");
  if (!version) return version.error();
  if (*version != kV1 && *version != kV1Beta1)
    return Error{std::string("apiVersion: must be ") + kV1 +
                 " or v1beta1, as for kubectl since 1.24; let the " +
                 "cloud's tool write the kubeconfig anew"};
  plugin.api_version = *std::move(version);
  return done();
}

Status read_mode(const Json& exec, ExecPlugin& plugin) {
  using Mode = ExecPlugin::Interactive;
  const auto mode = text_of(exec, "interactiveMode");
  if (!mode) return mode.error();
  // v1 has no default.
  if (*mode == "IfAvailable" || (mode->empty() && plugin.api_version == kV1Beta1)) {
    plugin.interactive = Mode::IfAvailable;
  } else if (*mode == "Never" || *mode == "Always") {
    plugin.interactive = *mode == "Never" ? Mode::Never : Mode::Always;
  } else {
    return Error{"interactiveMode: must be Never, IfAvailable or Always"};
  }
  return done();
}

Status read_cluster_info(const Json& exec, const Json& cluster, ExecPlugin& plugin) {
  const auto wanted = exec.find("provideClusterInfo");
  if (wanted == exec.end() || wanted->is_null()) return done();
  if (!wanted->is_boolean()) return Error{"provideClusterInfo: must be true or false"};
  plugin.cluster_info = wanted->get<bool>();
  if (!plugin.cluster_info) return done();
  auto server = text_of(cluster, "server");
  if (!server) return server.error();
  plugin.server = *std::move(server);
  const auto extensions = cluster.find("extensions");
  if (extensions == cluster.end() || !extensions->is_array()) return done();
  for (const Json& entry : *extensions) {
    if (!entry.is_object() || entry.value("name", Json()) != kExtension) continue;
    const auto settings = entry.find("extension");
    if (settings != entry.end() && !settings->is_null()) plugin.settings = settings->dump();
  }
  return done();
}

}  // namespace

Result<ExecPlugin> read_exec_plugin(const Json& exec, const Json& cluster, const fs::path& base) {
  if (!exec.is_object()) return Error{"must be an object"};
  ExecPlugin plugin;
  if (const Status read = read_command(exec, base, plugin); !read) return read.error();
  if (const Status read = read_args(exec, plugin); !read) return read.error();
  if (const Status read = read_env(exec, plugin); !read) return read.error();
  if (const Status read = read_version(exec, plugin); !read) return read.error();
  if (const Status read = read_mode(exec, plugin); !read) return read.error();
  if (const Status read = read_cluster_info(exec, cluster, plugin); !read) return read.error();
  auto hint = text_of(exec, "installHint");
  if (!hint) return hint.error();
  plugin.install_hint = plain(*std::move(hint));
  return plugin;
}

std::string exec_info(const ClientConfig& config, const std::string& ca, bool interactive) {
  const ExecPlugin& plugin = *config.exec;
  Json spec{{"interactive", interactive}};
  if (plugin.cluster_info) {
    Json cluster{{"server", plugin.server}};
    if (!config.tls_name.empty()) cluster["tls-server-name"] = config.tls_name;
    if (!ca.empty()) cluster["certificate-authority-data"] = encode_base64(ca);
    if (!plugin.settings.empty()) cluster["config"] = Json::parse(plugin.settings);
    spec["cluster"] = std::move(cluster);
  }
  const Json info{{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}};
  return info.dump();
}

}  // namespace nccl_env::kube
