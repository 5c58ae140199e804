// SPDX-License-Identifier: Apache-2.0
// Metrics with a closed set of series: every family states its label tuples when it is registered, so the
// number of series is known at the start and no input can add one. Counting is one relaxed atomic add.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nccl_env {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A metric's row: in /metrics, and in the page of docs that its program's test names.
struct MetricDesc {
  std::string name;                      // [a-zA-Z_][a-zA-Z0-9_]*, unique in its registry
  std::string help;                      // all that people read about it
  std::vector<std::string> labels = {};  // label names
  // Label values, each as long as `labels`. Without labels there is one series.
  std::vector<std::vector<std::string>> series = std::vector<std::vector<std::string>>(1);
};

// Index i below is the position in MetricDesc::series. Precondition everywhere: i < series.size().
class CounterFamily {
 public:
  explicit CounterFamily(std::size_t size) : cells_(std::make_unique<Cell[]>(size)), size_(size) {}
  void add(std::size_t i = 0, std::uint64_t amount = 1) {
    cells_[i].value.fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value(std::size_t i = 0) const {
    return cells_[i].value.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct alignas(64) Cell {  // one cache line: threads that count different series don't share it
    std::atomic<std::uint64_t> value{0};
  };
  std::unique_ptr<Cell[]> cells_;
  std::size_t size_;
};

// Values that somebody sets; 0 before that.
class GaugeFamily {
 public:
  explicit GaugeFamily(std::size_t size) : cells_(std::make_unique<std::atomic<double>[]>(size)) {}
  void set(double value, std::size_t i = 0) { cells_[i].store(value, std::memory_order_relaxed); }
  [[nodiscard]] double value(std::size_t i = 0) const { return cells_[i].load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<std::atomic<double>[]> cells_;
};

class HistogramFamily {
 public:
  // `bounds` ascend; a value counts in the first bucket whose bound is not below the value, else in +Inf.
  HistogramFamily(std::size_t size, std::vector<double> bounds);
  void observe(double value, std::size_t i = 0);

  struct Snapshot {
    std::vector<std::uint64_t> counts;  // per bucket, not cumulative; the last one is +Inf
    double sum = 0;
  };
  [[nodiscard]] Snapshot snapshot(std::size_t i = 0) const;
  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct alignas(64) Series {
    std::unique_ptr<std::atomic<std::uint64_t>[]> buckets;
    std::atomic<double> sum{0};
  };
  std::vector<double> bounds_;
  std::unique_ptr<Series[]> series_;
  std::size_t size_;
};

// Families are registered by main before the threads start; any thread may count and render(). Families live
// as long as the registry. A name given twice or a tuple of the wrong length is a bug (assert).
class MetricRegistry {
 public:
  // Called by render() with the index of the series; must be quick and must not throw. kNoValue leaves the
  // series out.
  using Reader = std::function<double(std::size_t series)>;

  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  CounterFamily& add_counter(MetricDesc desc);
  HistogramFamily& add_histogram(MetricDesc desc, std::vector<double> bounds);
  GaugeFamily& add_gauge(MetricDesc desc);
  // A gauge that somebody else keeps.
  void add_gauge(MetricDesc desc, Reader read);
  // A counter that somebody else keeps (a server's statistics).
  void add_counter_reader(MetricDesc desc, Reader read);

  // Prometheus' text exposition format 0.0.4, `text/plain; version=0.0.4; charset=utf-8`.
  [[nodiscard]] std::string render() const;
  // All descriptions, in the order of registration.
  [[nodiscard]] std::vector<MetricDesc> described() const;

 private:
  struct Family;
  Family& add(MetricDesc desc);
  mutable std::mutex mutex_;  // guards families_; counting does not take it
  std::vector<std::unique_ptr<Family>> families_;
};

}  // namespace nccl_env
