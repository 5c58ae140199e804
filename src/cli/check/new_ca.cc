// SPDX-License-Identifier: Apache-2.0
#include "check/new_ca.h"

#include <nlohmann/json.hpp>

#include "check/installed_parts.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/base64.h"
#include "nccl_env/net/tls/pki.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

std::string part_of(const Json& secret, const char* name) {
  return kube::decode_base64(text_at(member(secret, "data"), name)).value_or("");
}

}  // namespace

Result<Checked> begin_new_ca(kube::ApiServer& client) {
  constexpr Code kCheck = Code::Certificate;
  const LookUp hooks = look_up(client, ask_hooks("mutatingwebhookconfigurations"));
  if (hooks.outcome != LookUp::Outcome::Found) return Error{hooks.problem};
  const std::string place = service_namespace(hooks.object), name = place + "/" + kCertificate;
  if (place.empty())
    return Error{"the hooks call no Service, so their certificates are not the webhook's own"};
  kube::Call call;
  call.target = path_in(place, kube::kSecrets, kCertificate);
  LookUp secret = look_up(client, {call.target, "get secrets " + name});
  if (secret.outcome != LookUp::Outcome::Found) return Error{secret.problem};
  const std::string authority = part_of(secret.object, "ca.crt"), leaf = part_of(secret.object, "tls.crt");
  if (authority.empty())
    return Error{"Secret " + name + " holds no CA: its certificates are not the webhook's own"};
  if (part_of(secret.object, "ca.key").empty() || !net::is_signed_by(leaf, authority))
    return Checked{kCheck, Sight::Good, "a new CA is on its way already"};
  secret.object["data"].erase("ca.key");
  call.method = "PUT";
  call.content_type = kube::kJson;
  call.body = secret.object.dump();  // with its resourceVersion: refused if somebody was faster
  const auto reply = client.call(call);
  if (!reply) return reply.error();
  if (reply->status != kube::kOk) return Error{"Secret " + name + ": " + kube::status_message(*reply)};
  return Checked{
      kCheck, Sight::Good,
      "the webhook makes a new CA, and a certificate of it once all hooks trust both: in a minute"};
}

}  // namespace nccl_env::cli
