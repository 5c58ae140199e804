// SPDX-License-Identifier: Apache-2.0
#include "exec/credential.h"

#include <nlohmann/json.hpp>

#include "credentials.h"
#include "exec/json_field.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;

Error in_status(const Error& error) {
  return {"status." + error.message};
}

Status read_expiry(const Json& status, ExecCredential& credential) {
  const auto text = text_of(status, "expirationTimestamp");
  if (!text) return text.error();
  if (text->empty()) return done();
  const auto time = parse_timestamp(*text);
  if (!time) return Error{"expirationTimestamp: is no time such as 2026-11-20T08:00:00Z"};
  credential.expires = *time;
  return done();
}

Status read_status(const Json& status, ExecCredential& credential) {
  auto token = text_of(status, "token");
  if (!token) return token.error();
  if (!is_bearer_token(*token))
    return Error{"token: is too long for a bearer token, or holds characters that none has"};
  auto certificate = text_of(status, "clientCertificateData");
  if (!certificate) return certificate.error();
  auto key = text_of(status, "clientKeyData");
  if (!key) return key.error();
  if (certificate->empty() != key->empty())
    return Error{"clientCertificateData and clientKeyData: one without the other"};
  if (token->empty() && certificate->empty())
    return Error{"token: is missing, and so is clientCertificateData"};
  credential.token = *std::move(token);
  credential.certificate = *std::move(certificate);
  credential.key = *std::move(key);
  return read_expiry(status, credential);
}

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const Json root = parse_json(text);  // no exception: it would quote the text
  if (!root.is_object()) return Error{"its output is not one JSON object"};
  const auto kind = text_of(root, "kind");
  if (!kind || *kind != "ExecCredential") return Error{"its output is of another kind than ExecCredential"};
  const auto version = text_of(root, "apiVersion");
  if (!version || *version != api_version)
    return Error{"its output is of another apiVersion than " + std::string(api_version) +
                 ", which the kubeconfig names"};
  const auto status = root.find("status");
  if (status == root.end() || !status->is_object()) return Error{"its output has no status"};
  ExecCredential credential;
  if (const Status read = read_status(*status, credential); !read) return in_status(read.error());
  return credential;
}

}  // namespace nccl_env::kube
