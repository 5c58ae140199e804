// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/config.h"

#include "fuzz/fuzz.h"

namespace nccl_env::fuzz::kubeconfig_fuzz {

FUZZ_TARGET(kubeconfig) {
  const auto config = kube::read_kubeconfig(input, "/base");
  if (!config) return require(!config.error().message.empty(), "a refusal has a sentence");
  require(!config->host.empty() && config->port != 0, "a configuration names a server");
  for (const std::string* text : {&config->host, &config->path_prefix})
    require(text->find_first_of(std::string_view(" \r\n\0", 4)) == std::string::npos,
            "nothing splits a request");
  require(config->certificate.empty() == config->key.empty(), "certificate and key come together");
  for (const kube::TextSource* source : {&config->ca, &config->certificate, &config->key, &config->token})
    require(source->text.empty() || source->file.empty(), "a text or a file");
}

}  // namespace nccl_env::fuzz::kubeconfig_fuzz
