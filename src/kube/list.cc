// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/list.h"

#include "nccl_env/kube/client.h"

#include "list_page.h"

namespace nccl_env::kube {
namespace {

// As the watches: a page of 500 tables is about 20 MiB.
constexpr int kPage = 500;

}  // namespace

Status list_all(Client& client, const std::string& path,
                const std::function<void(const nlohmann::json&)>& on_item) {
  std::string next;
  do {
    Call call;
    call.target = path + (path.find('?') == path.npos ? "?" : "&") + "limit=" + std::to_string(kPage) +
                  (next.empty() ? "" : "&continue=" + escaped(next));
    call.deadline = std::chrono::seconds(30);  // a page, over a slow line
    const auto reply = client.call(call);
    if (!reply) return Error{client.server() + path + ": " + reply.error().message};
    if (reply->status != kOk) return Error{client.server() + path + ": " + status_message(*reply)};
    const auto page = read_list_page(reply->body, on_item);
    if (!page) return Error{client.server() + path + ": " + page.error().message};
    // A server that names the same page again would never end.
    if (!page->next.empty() && page->next == next)
      return Error{client.server() + path + ": a page without end"};
    next = page->next;
  } while (!next.empty());
  return done();
}

}  // namespace nccl_env::kube
