// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "nccl_env/base/file.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxKubeconfig = 1u << 20;  // files made by kubectl reach some tens of KiB
constexpr std::size_t kMaxNamespace = 253;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  return text;
}

constexpr std::string_view kScheme = "https://";

// A name or an IPv4 address; or, in brackets, an IPv6 address. The resolver judges the rest.
bool is_host(std::string_view host, bool bracketed) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [&](char c) {
    return is_alphanumeric(c) || c == '.' || (bracketed ? c == ':' : c == '-' || c == '_');
  });
}

bool is_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("/-._~%:@").find(c) != std::string_view::npos;
  });
}

// 1-65535, digits only.
std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || stop != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// Reads https://HOST[:PORT][/PATH], and nothing else.
Status read_server_url(std::string_view url, ClientConfig& into) {
  const Error bad{"must be https://HOST:PORT, with a path or without"};
  if (!url.starts_with(kScheme)) return bad;
  std::string_view rest = url.substr(kScheme.size());
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) {
    std::string_view path = rest.substr(slash);
    if (!is_path(path)) return bad;
    while (path.ends_with('/')) path.remove_suffix(1);
    into.path_prefix = path;
    rest = rest.substr(0, slash);
  }
  const bool bracketed = rest.starts_with('[');
  const auto host_end = bracketed ? rest.find(']') : std::min(rest.find(':'), rest.size());
  if (host_end == std::string_view::npos) return bad;
  into.host = rest.substr(bracketed ? 1 : 0, host_end - (bracketed ? 1 : 0));
  rest.remove_prefix(host_end + (bracketed ? 1 : 0));
  if (!is_host(into.host, bracketed)) return bad;
  if (rest.empty()) return done();
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return bad;
  into.port = *port;
  return done();
}

// The string `field` of an object; "" where it is absent or null. Strict: another type is an error.
Result<std::string> text_of(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return Error{std::string(field) + ": must be a string"};
  return found->get<std::string>();
}

bool is_set(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return false;
  if (found->is_string()) return !found->get_ref<const std::string&>().empty();
  return !found->is_boolean() || found->get<bool>();
}

// Returns the `inner` object of the entry of `list` with this name.
Result<const Json*> named(const Json& root, const char* list, const char* inner, const std::string& name) {
  const auto entries = root.find(list);
  if (entries != root.end() && entries->is_array()) {
    for (const Json& entry : *entries) {
      if (!entry.is_object()) continue;
      const auto entry_name = entry.find("name");
      const auto content = entry.find(inner);
      if (entry_name != entry.end() && *entry_name == name && content != entry.end() && content->is_object())
        return &*content;
    }
  }
  return Error{std::string(list) + ": there is no " + inner + " named '" + name + "'"};
}

Result<std::string> decoded(const Json& object, const std::string& field) {
  const auto text = text_of(object, field.c_str());
  if (!text) return text.error();
  auto plain = decode_base64(*text);
  if (!plain || plain->empty()) return Error{field + ": is not base64"};
  return *std::move(plain);
}

Result<TextSource> source_of(const Json& object, const std::string& field, const fs::path& base) {
  TextSource source;
  if (is_set(object, (field + "-data").c_str())) {
    auto text = decoded(object, field + "-data");
    if (!text) return text.error();
    source.text = *std::move(text);
    return source;
  }
  const auto file = text_of(object, field.c_str());
  if (!file) return file.error();
  if (!file->empty()) source.file = base / *file;
  return source;
}

Status read_cluster(const Json& cluster, const fs::path& base, ClientConfig& config) {
  const auto server = text_of(cluster, "server");
  if (!server) return server.error();
  if (const Status read = read_server_url(*server, config); !read)
    return Error{"server: '" + *server + "': " + read.error().message};
  if (is_set(cluster, "insecure-skip-tls-verify"))
    return Error{"insecure-skip-tls-verify: not done here; name the cluster's certificate-authority"};
  if (is_set(cluster, "proxy-url")) return Error{"proxy-url: proxies are not supported"};
  auto name = text_of(cluster, "tls-server-name");
  if (!name) return name.error();
  config.tls_name = *std::move(name);
  auto ca = source_of(cluster, "certificate-authority", base);
  if (!ca) return ca.error();
  config.ca = *std::move(ca);
  return done();
}

Status refuse_unsupported(const Json& user) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"exec", "nobody is there to log in; use a token or a client certificate"},
      {"auth-provider", "kubectl has none since 1.26; use a token or a client certificate"},
      {"username", "basic authentication is not supported"},
      {"password", "basic authentication is not supported"},
      {"as", "impersonation is not supported"},
      {"as-uid", "impersonation is not supported"},
      {"as-groups", "impersonation is not supported"},
      {"as-user-extra", "impersonation is not supported"}};
  for (const auto& [field, why] : kRefused) {
    if (is_set(user, field)) return Error{std::string(field) + ": " + why};
  }
  return done();
}

Status read_token(const Json& user, const fs::path& base, ClientConfig& config) {
  const auto file = text_of(user, "tokenFile");
  if (!file) return file.error();
  if (!file->empty()) {
    config.token.file = base / *file;
    return done();
  }
  auto token = text_of(user, "token");
  if (!token) return token.error();
  config.token.text = *std::move(token);
  return done();
}

Status read_user(const Json& user, const fs::path& base, ClientConfig& config) {
  if (const Status supported = refuse_unsupported(user); !supported) return supported.error();
  auto certificate = source_of(user, "client-certificate", base);
  if (!certificate) return certificate.error();
  auto key = source_of(user, "client-key", base);
  if (!key) return key.error();
  if (certificate->empty() != key->empty())
    return Error{"client-certificate and client-key: one without the other"};
  config.certificate = *std::move(certificate);
  config.key = *std::move(key);
  return read_token(user, base, config);
}

Error in(const char* what, const std::string& name, const Error& error) {
  return {std::string(what) + " '" + name + "': " + error.message};
}

}  // namespace

Surroundings Surroundings::current() {
  Surroundings found;
  found.service_host = variable("KUBERNETES_SERVICE_HOST");
  found.service_port = variable("KUBERNETES_SERVICE_PORT");
  found.kubeconfig = variable("KUBECONFIG");
  return found;
}

Result<ClientConfig> in_cluster_config(const Surroundings& surroundings) {
  if (surroundings.service_host.empty() || surroundings.service_port.empty())
    return Error{"not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  const auto port = parse_port(surroundings.service_port);
  if (!port) return Error{"KUBERNETES_SERVICE_PORT: '" + surroundings.service_port + "' is not a port"};
  ClientConfig config;
  config.host = surroundings.service_host;
  config.port = *port;
  config.ca.file = surroundings.service_account / "ca.crt";
  config.token.file = surroundings.service_account / "token";
  const auto name_space = read_file(surroundings.service_account / "namespace", kMaxNamespace);
  if (!name_space) return Error{"the pod's service account: " + name_space.error().message};
  config.name_space = without_blanks(*name_space);
  return config;
}

Result<ClientConfig> read_kubeconfig(std::string_view text, const fs::path& base) {
  const auto documents = parse_documents(text, "kubeconfig");
  if (!documents) return documents.error();
  if (documents->size() != 1 || !documents->front().is_object()) return Error{"must be one object"};
  const Json& root = documents->front();
  const auto current = text_of(root, "current-context");
  if (!current) return current.error();
  if (current->empty()) return Error{"current-context: is not set"};
  const auto context = named(root, "contexts", "context", *current);
  if (!context) return context.error();

  std::array<std::string, 3> of_context;
  for (std::size_t i = 0; const char* field : {"cluster", "user", "namespace"}) {
    auto value = text_of(**context, field);
    if (!value) return in("context", *current, value.error());
    of_context[i++] = *std::move(value);
  }
  auto& [cluster_name, user_name, name_space] = of_context;
  ClientConfig config;
  if (!name_space.empty()) config.name_space = std::move(name_space);
  const auto cluster = named(root, "clusters", "cluster", cluster_name);
  if (!cluster) return cluster.error();
  if (const Status read = read_cluster(**cluster, base, config); !read)
    return in("cluster", cluster_name, read.error());
  if (user_name.empty()) return config;  // anonymous
  const auto user = named(root, "users", "user", user_name);
  if (!user) return user.error();
  if (const Status read = read_user(**user, base, config); !read) return in("user", user_name, read.error());
  return config;
}

Result<ClientConfig> load_config(const std::filesystem::path& kubeconfig, const Surroundings& surroundings) {
  std::filesystem::path file = kubeconfig;
  if (file.empty()) {
    if (!surroundings.service_host.empty()) return in_cluster_config(surroundings);
    if (surroundings.kubeconfig.empty())
      return Error{
          "no API server: this is not a pod of a cluster (KUBERNETES_SERVICE_HOST is not set), and no "
          "kubeconfig is given, neither as an option nor in $KUBECONFIG"};
    file = surroundings.kubeconfig;
  }
  const auto text = read_file(file, kMaxKubeconfig);
  if (!text) return Error{"kubeconfig " + text.error().message};
  auto config = read_kubeconfig(*text, file.parent_path());
  if (!config) return Error{"kubeconfig " + file.string() + ": " + config.error().message};
  return config;
}

}  // namespace nccl_env::kube
