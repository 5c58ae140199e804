// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <sstream>

namespace nccl_env {

struct MetricRegistry::Family {
  MetricDesc desc;
  prometheus::MetricType type = prometheus::MetricType::Untyped;
  std::unique_ptr<CounterFamily> counter;  // one of the four is set
  std::unique_ptr<GaugeFamily> gauge;
  std::unique_ptr<HistogramFamily> histogram;
  Reader read;
};

namespace {

prometheus::ClientMetric::Histogram read_histogram(const HistogramFamily& family, std::size_t i) {
  const HistogramFamily::Snapshot snapshot = family.snapshot(i);
  prometheus::ClientMetric::Histogram out;
  std::uint64_t cumulative = 0;
  for (std::size_t b = 0; b < snapshot.counts.size(); ++b) {
    cumulative += snapshot.counts[b];
    const bool last = b == family.bounds().size();
    out.bucket.push_back({cumulative, last ? std::numeric_limits<double>::infinity() : family.bounds()[b]});
  }
  out.sample_count = cumulative;
  out.sample_sum = snapshot.sum;
  return out;
}

}  // namespace

HistogramFamily::HistogramFamily(std::size_t size, std::vector<double> bounds)
    : bounds_(std::move(bounds)), series_(std::make_unique<Series[]>(size)), size_(size) {
  assert(std::is_sorted(bounds_.begin(), bounds_.end()));
  for (std::size_t i = 0; i < size; ++i) {
    series_[i].buckets = std::make_unique<std::atomic<std::uint64_t>[]>(bounds_.size() + 1);
  }
}

void HistogramFamily::observe(double value, std::size_t i) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  series_[i].buckets[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  series_[i].sum.fetch_add(value, std::memory_order_relaxed);
}

HistogramFamily::Snapshot HistogramFamily::snapshot(std::size_t i) const {
  Snapshot out;
  for (std::size_t b = 0; b <= bounds_.size(); ++b) {
    out.counts.push_back(series_[i].buckets[b].load(std::memory_order_relaxed));
  }
  out.sum = series_[i].sum.load(std::memory_order_relaxed);
  return out;
}

MetricRegistry::MetricRegistry() = default;
MetricRegistry::~MetricRegistry() = default;

MetricRegistry::Family& MetricRegistry::add(MetricDesc desc) {
  std::lock_guard lock(mutex_);
  assert(std::none_of(families_.begin(), families_.end(),
                      [&](const auto& family) { return family->desc.name == desc.name; }));
  assert(std::all_of(desc.series.begin(), desc.series.end(),
                     [&](const auto& tuple) { return tuple.size() == desc.labels.size(); }));
  families_.push_back(std::make_unique<Family>());
  families_.back()->desc = std::move(desc);
  return *families_.back();
}

CounterFamily& MetricRegistry::add_counter(MetricDesc desc) {
  auto counter = std::make_unique<CounterFamily>(desc.series.size());
  Family& family = add(std::move(desc));
  family.type = prometheus::MetricType::Counter;
  family.counter = std::move(counter);
  return *family.counter;
}

HistogramFamily& MetricRegistry::add_histogram(MetricDesc desc, std::vector<double> bounds) {
  auto histogram = std::make_unique<HistogramFamily>(desc.series.size(), std::move(bounds));
  Family& family = add(std::move(desc));
  family.type = prometheus::MetricType::Histogram;
  family.histogram = std::move(histogram);
  return *family.histogram;
}

GaugeFamily& MetricRegistry::add_gauge(MetricDesc desc) {
  auto gauge = std::make_unique<GaugeFamily>(desc.series.size());
  Family& family = add(std::move(desc));
  family.type = prometheus::MetricType::Gauge;
  family.gauge = std::move(gauge);
  return *family.gauge;
}

void MetricRegistry::add_gauge(MetricDesc desc, Reader read) {
  Family& family = add(std::move(desc));
  family.type = prometheus::MetricType::Gauge;
  family.read = std::move(read);
}

void MetricRegistry::add_counter_reader(MetricDesc desc, Reader read) {
  Family& family = add(std::move(desc));
  family.type = prometheus::MetricType::Counter;
  family.read = std::move(read);
}

std::vector<MetricDesc> MetricRegistry::described() const {
  const std::lock_guard lock(mutex_);
  std::vector<MetricDesc> all;
  for (const auto& family : families_) all.push_back(family->desc);
  return all;
}

std::string MetricRegistry::render() const {
  std::vector<prometheus::MetricFamily> out;
  {
    std::lock_guard lock(mutex_);
    for (const auto& family : families_) {
      prometheus::MetricFamily metrics{family->desc.name, family->desc.help, family->type, {}};
      for (std::size_t i = 0; i < family->desc.series.size(); ++i) {
        prometheus::ClientMetric metric;
        for (std::size_t l = 0; l < family->desc.labels.size(); ++l) {
          metric.label.push_back({family->desc.labels[l], family->desc.series[i][l]});
        }
        if (family->histogram) {
          metric.histogram = read_histogram(*family->histogram, i);
        } else {
          const double value = family->counter ? static_cast<double>(family->counter->value(i))
                               : family->gauge ? family->gauge->value(i)
                                               : family->read(i);
          if (std::isnan(value)) continue;
          metric.counter.value = value;
          metric.gauge.value = value;
        }
        metrics.metric.push_back(std::move(metric));
      }
      out.push_back(std::move(metrics));
    }
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, out);
  return std::move(text).str();
}

}  // namespace nccl_env
