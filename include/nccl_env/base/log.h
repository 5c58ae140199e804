// SPDX-License-Identifier: Apache-2.0
// Logger: JSON lines, one object per line, and the only way that anything here is logged.
// Logging never waits for the reader: a thread writes the lines in their order. While 1 MiB of lines waits,
// further ones are dropped and counted, and a line says so where they are missing.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace nccl_env {

enum class LogLevel { Debug, Info, Warn, Error, Off };

// "debug", "info", "warn", "error", "off"; anything else: nothing.
std::optional<LogLevel> parse_log_level(std::string_view name);

// One of several names in a value: "scope/name", or the name alone. A LogObject has a word for each name.
struct LogName {
  std::string_view scope, name, word = {};
};
struct LogList {  // ["scope/name", …]
  std::span<const LogName> names;
};
struct LogObject {  // {"scope/name":"word", …}
  std::span<const LogName> names;
};

// One `"key":value` of a line. Key and value are views that must live until the call returns. Values may
// hold any bytes.
struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool, LogList, LogObject> value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, LogList v) : key(k), value(v) {}
  LogField(std::string_view k, LogObject v) : key(k), value(v) {}
  template <std::signed_integral T>
  LogField(std::string_view k, T v) : key(k), value(static_cast<std::int64_t>(v)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) LogField(std::string_view k, T v)
      : key(k), value(static_cast<std::uint64_t>(v)) {}
};

// `{"time":"2026-11-20T08:00:00.123Z","level":"info","msg":"…",<fields>}`. Invalid UTF-8 becomes U+FFFD;
// a value over 4 KiB is cut, a list or an object after a whole member; fields that would make the line longer
// than 16 KiB (where container runtimes split lines) are left out and `"truncated":true` says so. Every
// member may be called from any thread.
class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  static std::shared_ptr<Logger> to_stderr(LogLevel level);
  // The descriptor must stay open as long as the logger; if nobody reads from it, as long as the process.
  static std::shared_ptr<Logger> to_descriptor(int descriptor, LogLevel level);
  // For tests and one-shot tools: each line at once. The stream must outlive the logger.
  static std::shared_ptr<Logger> to_stream(std::ostream& stream, LogLevel level);

  // Waits until all lines are written; for 2 s at most.
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const { return level >= level_; }

  void log(LogLevel level, std::string_view message, Fields fields = {});
  void info(std::string_view message, Fields fields = {}) { log(LogLevel::Info, message, fields); }
  void warn(std::string_view message, Fields fields = {}) { log(LogLevel::Warn, message, fields); }
  void error(std::string_view message, Fields fields = {}) { log(LogLevel::Error, message, fields); }

  // Lines that found no room, or that could not be written.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Lines;
  explicit Logger(LogLevel level);

  std::shared_ptr<Lines> lines_;
  const LogLevel level_;
};

}  // namespace nccl_env
