// SPDX-License-Identifier: Apache-2.0
// NCCL_ENV_SANITIZED: 1 under AddressSanitizer and ThreadSanitizer, else 0.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC's words
#define NCCL_ENV_SANITIZED 1
#elif defined(__has_feature)
#define NCCL_ENV_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define NCCL_ENV_SANITIZED 0
#endif
