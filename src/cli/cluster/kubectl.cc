// SPDX-License-Identifier: Apache-2.0
#include "cluster/kubectl.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "cluster/objects.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxComplaintShown = 1024;
// Time to log in, for a plugin and for a person at a terminal (a browser, a second factor).
constexpr std::chrono::seconds kLogin{60}, kLoginOfPerson{600};
// Once the server has answered: a plugin may ask for a new token.
constexpr std::chrono::seconds kLoginAgain{15};
constexpr std::string_view kRefusal = "Error from server";

// Source: the reasons of k8s.io/apimachinery/pkg/apis/meta/v1/types.go, with the statuses that it gives them.
constexpr std::pair<std::string_view, int> kReasons[] = {
    {"", 400},
    {"BadRequest", 400},
    {"Unauthorized", 401},
    {"Forbidden", kube::kForbidden},
    {"NotFound", kube::kNotFound},
    {"MethodNotAllowed", 405},
    {"AlreadyExists", 409},
    {"Conflict", 409},
    {"Expired", 410},
    {"Gone", 410},
    {"RequestEntityTooLarge", 413},
    {"Invalid", kUnprocessable},
    {"TooManyRequests", 429},
    {"InternalError", 500},
    {"ServerTimeout", 500},
    {"ServiceUnavailable", 503},
    {"Timeout", 504},
};

// klog's lines: "E1122 10:00:00.000000   4711 memcache.go:265] …".
bool is_log_line(std::string_view line) {
  return line.size() > 5 && std::string_view("IWEF").find(line[0]) != line.npos &&
         std::all_of(line.begin() + 1, line.begin() + 5, is_digit);
}

kube::Reply refusal(int status, std::string_view message) {
  return {status, dump_json(Json{{"message", message}})};
}

}  // namespace

std::string sentence_of(const std::string& complaint) {
  std::istringstream lines(complaint);
  std::string sentence;
  for (std::string line; std::getline(lines, line) && sentence.size() < kMaxComplaintShown;) {
    line.erase(0, line.find_first_not_of(" \t\r"));
    if (line.empty() || line.starts_with("Warning: ") || is_log_line(line)) continue;
    sentence += (sentence.empty() ? "" : " ") + line;
  }
  for (const std::string_view prefix : {"error: ", "Error in configuration: "}) {
    if (sentence.starts_with(prefix)) sentence.erase(0, prefix.size());
  }
  sentence.resize(std::min(sentence.size(), kMaxComplaintShown));
  sentence.erase(sentence.find_last_not_of(" \t\r") + 1);
  return sentence;
}

// `get --raw`, `create --raw` and `delete --raw` report refusals in no other form. They copy the body of a
// success, and print this sentence for any other answer; the exit code is then always 1 (k8s.io/kubectl:
// pkg/rawhttp/raw.go, checkErr in pkg/cmd/util/helpers.go). -o does not go with --raw, and the bodies that
// -v=8 shows are log lines.
std::optional<kube::Reply> refusal_of(const std::string& sentence) {
  std::string_view text = sentence;
  if (text.starts_with("The ") && text.find(" is invalid") != text.npos) return refusal(kUnprocessable, text);
  if (!text.starts_with(kRefusal)) return std::nullopt;
  text.remove_prefix(kRefusal.size());
  const std::size_t colon = text.find(": ");
  if (colon == text.npos) return std::nullopt;
  std::string_view reason = text.substr(0, colon);
  if (reason.starts_with(" (") && reason.ends_with(")")) reason = reason.substr(2, reason.size() - 3);
  const auto* found = std::ranges::find(kReasons, reason, [](const auto& known) { return known.first; });
  if (found == std::end(kReasons)) return std::nullopt;
  return refusal(found->second, text.substr(colon + 2));
}

Kubectl::Kubectl(std::string path, const std::string& kubeconfig, const std::string& context)
    : path_(std::move(path)) {
  if (!kubeconfig.empty()) options_.push_back("--kubeconfig=" + kubeconfig);
  if (!context.empty()) options_.push_back("--context=" + context);
}

Program Kubectl::program(std::vector<std::string> words) const {
  words.insert(words.end(), options_.begin(), options_.end());
  return {.path = path_, .args = std::move(words), .interrupt = interrupt_};
}

std::chrono::milliseconds Kubectl::with_login(std::chrono::milliseconds deadline) const {
  return deadline + (answered_ ? kLoginAgain : in_foreground() ? kLoginOfPerson : kLogin);
}

Result<kube::Reply> Kubectl::ask(const Program& program,
                                 const std::function<bool(std::string_view)>& on_part) const {
  const auto ended = run_program(program, on_part);
  if (!ended) return failed(ended.error().message);
  const std::string sentence = sentence_of(ended->complaint);
  auto refused = ended->code == 0 ? std::nullopt : refusal_of(sentence);
  answered_ = answered_ || ended->code == 0 || refused;
  if (ended->code == 0) return kube::Reply{kube::kOk, {}};
  if (refused) return *std::move(refused);
  return failed(sentence);
}

Result<kube::Reply> Kubectl::call(const kube::Call& call) {
  const bool creates = call.method == "POST";
  const char* const word = creates ? "create" : call.method == "DELETE" ? "delete" : "get";
  Program asked = program({word, "--raw", call.target});
  if (creates) asked.args.insert(asked.args.end(), {"-f", "-"});
  asked.input = call.body;
  asked.limit = with_login(call.deadline);
  std::string body;
  auto reply = ask(asked, [&](std::string_view part) {
    body += part;
    return body.size() <= kube::kMaxBody;
  });
  if (body.size() > kube::kMaxBody)
    return failed("the answer is larger than " + std::to_string(kube::kMaxBody >> 20) + " MiB");
  if (!reply || reply->status != kube::kOk) return reply;
  return kube::Reply{creates ? kCreated : kube::kOk, std::move(body)};
}

Result<kube::Reply> Kubectl::stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                          const std::function<bool(std::string_view part)>& on_part) {
  Program asked = program({"get", "--raw", target});
  asked.limit = with_login(idle_deadline);
  asked.idle = true;
  return ask(asked, on_part);
}

std::string Kubectl::server() const {
  const auto& found = context();
  return found ? "context " + found->name + ", " + found->server : "kubectl: ";
}

Result<std::string> Kubectl::name_space() const {
  const auto& found = context();
  if (found) return found->name_space.empty() ? std::string("default") : found->name_space;
  const auto pod = kube::in_cluster_config(kube::Surroundings::current());
  if (pod && options_.empty()) return pod->name_space;
  return failed("");
}

const Result<Kubectl::Context>& Kubectl::context() const {
  if (!context_) context_ = read_context();
  return *context_;
}

// Asks no server. kubectl blanks out the secrets in what it prints.
Result<Kubectl::Context> Kubectl::read_context() const {
  std::string text;
  const auto ended =
      run_program(program({"config", "view", "--minify", "-o", "json"}), [&](std::string_view part) {
        text += part;
        return text.size() <= kube::kMaxBody;
      });
  if (!ended) return ended.error();
  if (ended->code != 0) return Error{sentence_of(ended->complaint)};
  const Json config = parse_json(text);
  const Json& contexts = member(config, "contexts");
  const Json& clusters = member(config, "clusters");
  Context found{text_at(config, "current-context"), {}, {}};
  if (contexts.is_array() && !contexts.empty())
    found.name_space = text_at(member(contexts.front(), "context"), "namespace");
  if (clusters.is_array() && !clusters.empty())
    found.server = text_at(member(clusters.front(), "cluster"), "server");
  if (found.name.empty() || found.server.empty()) return Error{"kubectl names no context and no server"};
  return found;
}

// No answer came: names context and server unless the complaint names them.
Error Kubectl::failed(const std::string& complaint) const {
  constexpr std::string_view kNoFile = "stat ";  // "stat /nope: no such file or directory"
  if (complaint.starts_with(kNoFile)) return Error{"--kubeconfig " + complaint.substr(kNoFile.size())};
  const auto& found = context();
  if (!found && complaint.find("localhost:8080") == complaint.npos && !complaint.empty())
    return Error{"kubectl: " + complaint};
  if (!found && found.error().message.starts_with("current-context"))
    return Error{
        "kubectl knows no cluster: set $KUBECONFIG, or give --kubeconfig FILE, and --context NAME where the "
        "file has several"};
  if (!found) return Error{"kubectl: " + found.error().message};
  const std::string host = found->server.substr(std::min(found->server.find("//") + 2, found->server.size()));
  const std::string place = complaint.find(host) == complaint.npos ? ", " + found->server : "";
  return Error{"context " + found->name + place + ": " + complaint};
}

}  // namespace nccl_env::cli
