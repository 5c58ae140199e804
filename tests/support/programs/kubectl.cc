// SPDX-License-Identifier: Apache-2.0
// kubectl as far as nccl-env starts it (get, create and delete --raw, config view --minify), for tests on
// machines that have none. Its kubeconfigs are JSON, and users have tokens. Its errors are worded as kubectl
// 1.36 words them; what the real one does with contexts, files and plugins is shown by tests/e2e.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/kube/base64.h"
#include "nccl_env/net/client/http_client.h"

namespace {

using nccl_env::net::HttpConnection;
using Json = nlohmann::json;
using Options = std::map<std::string, std::string>;  // --NAME=VALUE

[[noreturn]] void fail(const std::string& sentence) {
  std::cerr << sentence << '\n';
  std::exit(1);
}

std::string text_of(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), {}};
}

// The context that counts with its name, its cluster and its user; empty objects for what is missing.
struct Chosen {
  std::string name;
  Json context, cluster, user;
};

Json named(const Json& config, const std::string& kind, const std::string& name) {
  for (const Json& entry : config.value(kind + "s", Json::array())) {
    if (entry["name"] == name) return entry[kind];
  }
  return Json::object();
}

Chosen read_config(const Options& options) {
  const auto given = options.find("kubeconfig");
  const char* variable = std::getenv("KUBECONFIG");
  const std::string file = given != options.end() ? given->second : variable ? variable : "";
  Json config = Json::object();
  if (std::ifstream in(file); in) {
    config = Json::parse(in, nullptr, false);
    if (config.is_discarded())
      fail("error: error loading config file \"" + file + "\": yaml: cannot be read");
    std::filesystem::current_path(std::filesystem::absolute(file).parent_path());  // files that it names
  } else if (given != options.end()) {
    fail("error: stat " + file + ": no such file or directory");
  }
  const auto context = options.find("context");
  Chosen chosen;
  chosen.name = context != options.end() ? context->second : config.value("current-context", "");
  chosen.context = named(config, "context", chosen.name);
  chosen.cluster = named(config, "cluster", chosen.context.value("cluster", ""));
  chosen.user = named(config, "user", chosen.context.value("user", ""));
  return chosen;
}

void view(const Options& options) {
  const Chosen chosen = read_config(options);
  if (chosen.context.empty()) {
    fail(chosen.name.empty() ? "error: current-context must exist in order to minify"
                             : "error: cannot locate context " + chosen.name);
  }
  const Json cluster{{"server", chosen.cluster["server"]}};
  std::cout << Json{{"current-context", chosen.name},
                    {"contexts", Json::array({{{"name", chosen.name}, {"context", chosen.context}}})},
                    {"clusters", Json::array({{{"name", chosen.context["cluster"]}, {"cluster", cluster}}})}};
}

std::string in_file(const std::string& path) {
  std::ifstream in(path);
  std::string text = text_of(in);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string word(int status) {
  static const std::map<int, std::string> kWords{
      {400, "BadRequest"}, {403, "Forbidden"},     {404, "NotFound"},          {409, "Conflict"},
      {410, "Expired"},    {500, "InternalError"}, {503, "ServiceUnavailable"}};
  const auto found = kWords.find(status);
  return found == kWords.end() ? "Unknown" : found->second;
}

[[noreturn]] void fail_as_answered(int status, const std::string& body) {
  const Json answer = Json::parse(body, nullptr, false);
  const std::string message = answer.is_object() ? answer.value("message", "unknown") : "unknown";
  if (status == 401) fail("error: You must be logged in to the server (" + message + ")");
  if (status == 422) fail("The request is invalid: " + message);
  fail("Error from server (" + word(status) + "): " + message);
}

// Prints the body as it comes.
void ask(const std::string& method, const std::string& target, const std::string& body,
         const Options& options) {
  const Chosen chosen = read_config(options);
  if (!chosen.name.empty() && chosen.context.empty())
    fail("error: context \"" + chosen.name + "\" does not exist");
  const std::string url = chosen.cluster.value("server", "http://localhost:8080");
  const std::string place = url.substr(url.find("://") + 3);
  nccl_env::net::HttpsServer server;
  server.host = place.substr(0, place.rfind(':'));
  const std::string port = place.substr(place.rfind(':') + 1);
  std::from_chars(port.data(), port.data() + port.size(), server.port);
  const auto or_refused = [&](auto result) {
    if (!result)
      fail("The connection to the server " + place +
           " was refused - did you specify the right host or port?");
    return result;
  };

  nccl_env::net::ClientTlsPem pem;
  pem.ca =
      chosen.cluster.contains("certificate-authority")
          ? in_file(chosen.cluster["certificate-authority"])
          : nccl_env::kube::decode_base64(chosen.cluster.value("certificate-authority-data", "")).value();
  const auto tls = nccl_env::net::ClientTls::make(pem);
  if (!tls) fail("error: " + tls.error().message);
  const std::string token =
      chosen.user.contains("tokenFile") ? in_file(chosen.user["tokenFile"]) : chosen.user.value("token", "");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  const auto opened = or_refused(
      HttpConnection::open(server, *tls, std::make_shared<const nccl_env::net::StopSignal>(), deadline));
  HttpConnection& connection = **opened;
  (void)or_refused(connection.send(
      method + " " + target + " HTTP/1.1\r\nHost: " + server.authority() + "\r\nAuthorization: Bearer " +
          token + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
      deadline));
  const int status = *or_refused(connection.read_status(deadline));
  std::string part;
  while (*or_refused(connection.read_body(part, deadline))) {
    if (status >= 400) continue;
    if (!(std::cout << part << std::flush)) std::exit(1);  // nobody reads any more
    part.clear();
  }
  if (status >= 400) fail_as_answered(status, part);
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words;
  Options options;
  for (const std::string& given : std::vector<std::string>(arguments + 1, arguments + count)) {
    if (given.starts_with("--kubeconfig=") || given.starts_with("--context=")) {
      options[given.substr(2, given.find('=') - 2)] = given.substr(given.find('=') + 1);
    } else {
      words.push_back(given);
    }
  }
  if (words == std::vector<std::string>{"config", "view", "--minify", "-o", "json"}) {
    view(options);
  } else if (words.size() == 3 && words[0] == "get" && words[1] == "--raw") {
    ask("GET", words[2], "", options);
  } else if (words.size() == 3 && words[0] == "delete" && words[1] == "--raw") {
    ask("DELETE", words[2], "", options);
  } else if (words.size() == 5 && words[0] == "create" && words[1] == "--raw" && words[3] == "-f" &&
             words[4] == "-") {
    ask("POST", words[2], text_of(std::cin), options);
  } else {
    fail("error: the tests' kubectl has no such command");
  }
}
