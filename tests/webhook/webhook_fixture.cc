// SPDX-License-Identifier: Apache-2.0
#include "webhook/webhook_fixture.h"

#include <algorithm>

#include "core/pods.h"
#include "core/recorded.h"
#include "support/places.h"

namespace nccl_env::tests {
namespace {

std::set<std::string> names_in(const std::string& text, const std::string& before, char after) {
  std::set<std::string> names;
  for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const auto begin = at + before.size();
    names.insert(text.substr(begin, text.find(after, begin) - begin));
  }
  return names;
}

}  // namespace

WebhookTest::WebhookTest() {
  std::filesystem::create_directory(directory_ / "store");
}

WebhookTest::~WebhookTest() {
  if (webhook_) {
    EXPECT_EQ(stop(), 0) << read_text(path("log"));
  }
}

void WebhookTest::store(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = directory_ / "store" / name;
  std::filesystem::create_directories(file.parent_path());
  const std::filesystem::path fresh = directory_ / "fresh";
  std::ofstream(fresh, std::ios::binary) << text;
  std::filesystem::rename(fresh, file);
}

std::vector<std::string> WebhookTest::command(const std::vector<std::string>& more) const {
  std::vector<std::string> all{program(),   "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
                               "--threads", "2"};
  const auto says = [&](const char* option) {
    return std::find(more.begin(), more.end(), option) != more.end();
  };
  if (!says("--store")) all.insert(all.end(), {"--store", "dir:" + path("store")});
  if (!says("--tls-cert") && !says("--managed-certificates"))
    all.insert(all.end(), {"--self-signed", path("pki")});
  if (!says("--drain-grace")) all.insert(all.end(), {"--drain-grace", "0s"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void WebhookTest::start(const std::vector<std::string>& more) {
  webhook_ = std::make_unique<Child>(command(more), path("log"));
  std::vector<Json> listening;
  const bool listens = eventually([&] {
    listening = log("listening");
    return !listening.empty() || webhook_->wait(std::chrono::milliseconds(0));
  });
  ASSERT_TRUE(listens && !listening.empty()) << read_text(path("log"));
  port_ = listening.front()["admission_port"];
  ops_port_ = listening.front()["ops_port"];
}

int WebhookTest::stop() {
  webhook_->signal(SIGTERM);
  const int code = webhook_->wait().value_or(-1);
  webhook_.reset();
  return code;
}

Reply WebhookTest::curl(std::vector<std::string> arguments, std::string_view body) const {
  arguments.insert(arguments.begin(), {"curl", "-q", "-s", "-S", "--noproxy", "*", "--max-time", "90", "-D",
                                       path("head"), "-o", path("body"), "-w", "%{http_code}"});
  std::filesystem::remove(path("head"));
  std::filesystem::remove(path("body"));
  const CommandResult result = run_command(arguments, body, path("curl.err"));
  Reply reply;
  if (result.code != 0) {
    reply.head = read_text(path("curl.err"));
    return reply;
  }
  reply.status = std::stoi(result.output);
  reply.head = read_text(path("head"));
  if (std::filesystem::exists(path("body"))) reply.body = read_text(path("body"));
  return reply;
}

Reply WebhookTest::post(const std::string& target, std::string_view body,
                        const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{
      "--cacert", path("pki/ca.crt"), "-H", "Content-Type: application/json", "--data-binary", "@-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back("https://127.0.0.1:" + std::to_string(port_) + target);
  return curl(arguments, body);
}

Reply WebhookTest::ops(const std::string& target, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = more;
  arguments.push_back("http://127.0.0.1:" + std::to_string(ops_port_) + target);
  return curl(arguments);
}

Json WebhookTest::admit(const Json& review) const {
  const Reply reply = post("/admit?timeout=10s", review.dump());
  EXPECT_EQ(reply.status, 200) << reply.head << reply.body;
  const Json answer = reply.json();
  if (!answer.is_object() || !answer.contains("response")) return nullptr;
  EXPECT_EQ(answer["response"]["uid"], review["request"]["uid"]);
  return answer["response"];
}

double WebhookTest::metric(const std::string& series) const {
  std::istringstream lines(ops("/metrics").body);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  return -1;
}

std::set<std::string> WebhookTest::metric_names() const {
  return names_in(ops("/metrics").body, "# TYPE ", ' ');
}

std::set<std::string> WebhookTest::documented_metrics() {
  const std::string page = read_text(tests::in_source("/docs/reference/webhook.md"));
  return names_in(page.substr(page.find("\n## Metrics\n")), "\n| `", '`');
}

std::vector<Json> WebhookTest::log(const std::string& message, std::size_t least) const {
  std::vector<Json> found;
  (void)eventually([&] {
    found.clear();
    std::ifstream lines(path("log"));
    for (std::string line; std::getline(lines, line);) {
      const Json entry = Json::parse(line, nullptr, false);
      if (entry.is_object() && entry.value("msg", "") == message) found.push_back(entry);
    }
    return found.size() >= least;
  });
  return found;
}

std::map<std::string, std::string> WebhookTest::environment_of(const Json& review) const {
  Json pod = patched(review, admit(review));
  const Json binding = binding_review();
  const Json annotations = patched(binding, admit(binding))["metadata"].value("annotations", Json::object());
  for (const auto& [key, value] : annotations.items()) pod["metadata"]["annotations"][key] = value;
  return nccl_environment(pod, 0);
}

}  // namespace nccl_env::tests
