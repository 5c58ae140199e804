// SPDX-License-Identifier: Apache-2.0
#include "certificates/secret.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::webhook {
namespace {

using Json = nlohmann::json;

struct Entry {
  const char* key;
  std::string CertificateSet::*text;  // either this, or the two below
  net::KeyPair CertificateSet::*pair;
  std::string net::KeyPair::*part;

  [[nodiscard]] const std::string& of(const CertificateSet& set) const {
    return text != nullptr ? set.*text : set.*pair.*part;
  }
  [[nodiscard]] std::string& of(CertificateSet& set) const {
    return text != nullptr ? set.*text : set.*pair.*part;
  }
};

// tls.crt, tls.key and ca.crt are what everything that reads TLS Secrets expects.
constexpr Entry kEntries[] = {
    {"ca.crt", nullptr, &CertificateSet::ca, &net::KeyPair::certificate},
    {"ca.key", nullptr, &CertificateSet::ca, &net::KeyPair::key},
    {"tls.crt", nullptr, &CertificateSet::leaf, &net::KeyPair::certificate},
    {"tls.key", nullptr, &CertificateSet::leaf, &net::KeyPair::key},
    {"former-ca.crt", &CertificateSet::former_cas, nullptr, nullptr},
};

std::string decoded(const Json& value) {
  if (!value.is_string()) return {};
  return kube::decode_base64(value.get_ref<const std::string&>()).value_or("");
}

}  // namespace

CertificateSet read_certificate_secret(const Json& secret) {
  CertificateSet set;
  for (const Entry& entry : kEntries) entry.of(set) = decoded(member(member(secret, "data"), entry.key));
  return set;
}

Json write_certificate_secret(Json secret, const CertificateSet& set, std::string_view name_space,
                              std::string_view name) {
  if (!secret.is_object()) {
    secret = {{"type", "Opaque"},
              {"metadata",
               {{"namespace", name_space},
                {"name", name},
                {"labels", {{"app.kubernetes.io/part-of", "nccl-env"}}}}}};
  }
  secret["apiVersion"] = "v1";
  secret["kind"] = "Secret";
  if (!secret["data"].is_object()) secret["data"] = Json::object();
  for (const Entry& entry : kEntries) {
    const std::string& text = entry.of(set);
    if (text.empty()) {
      secret["data"].erase(entry.key);
    } else {
      secret["data"][entry.key] = kube::encode_base64(text);
    }
  }
  return secret;
}

std::optional<std::string> ca_bundle_apply(const Json& configuration, std::string_view bundle) {
  const Json& metadata = member(configuration, "metadata");
  Json webhooks = Json::array();
  bool differs = false;
  const Json& present = member(configuration, "webhooks");
  if (!present.is_array()) return std::nullopt;
  const std::string encoded = kube::encode_base64(bundle);
  for (const Json& webhook : present) {
    const Json& name = member(webhook, "name");
    if (!name.is_string()) continue;
    differs = differs || member(member(webhook, "clientConfig"), "caBundle") != encoded;
    webhooks.push_back({{"name", name}, {"clientConfig", {{"caBundle", encoded}}}});
  }
  if (!differs) return std::nullopt;
  return Json{
      {"apiVersion", "admissionregistration.k8s.io/v1"},
      {"kind", member(configuration, "kind")},
      {"metadata",
       {{"name", member(metadata, "name")}, {"resourceVersion", member(metadata, "resourceVersion")}}},
      {"webhooks", webhooks}}
      .dump();
}

}  // namespace nccl_env::webhook
