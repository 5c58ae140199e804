# SPDX-License-Identifier: Apache-2.0
"""How long a page takes to open, to filter and to scroll."""

TIMES = """(() => { const navigation = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return [paint ? paint.startTime : -1, navigation.loadEventEnd]; })()"""
KEYSTROKES = """(async () => { const input = document.getElementById("filter"), times = [];
  for (const text of ["g", "gp", "gpu", "gpu-", "gpu-1", "gpu-19", "gpu-199", "gpu-1999", ""]) {
    const begin = performance.now(); input.value = text; input.dispatchEvent(new Event("input"));
    document.body.offsetHeight; times.push(performance.now() - begin);
    await new Promise(requestAnimationFrame); }
  return times; })()"""
SCROLLS = """(async () => { const port = document.getElementById("scroller"), times = [];
  for (let i = 0; i < 60; ++i) { const begin = performance.now(); port.scrollTop += 900; port.dispatchEvent(new Event("scroll"));
    document.body.offsetHeight; times.push(performance.now() - begin); await new Promise(requestAnimationFrame); }
  return times; })()"""


def tell_times(browser, report, what):
    """For people: machines differ, so no time is tested."""
    page = browser.page()
    page.open(report.file)
    while page.run(TIMES)[0] < 0:  # painting is told later than done
        page.settle()
    paint, load = page.run(TIMES)
    keys, scrolls = page.run(KEYSTROKES), sorted(page.run(SCROLLS))
    print(f"{what}: {report.file.stat().st_size / 1e6:.1f} MB, written in {report.seconds:.1f} s; first paint {paint:.0f} ms, "
          f"loaded {load:.0f} ms; first keystroke in the filter {keys[0]:.0f} ms, others {max(keys[1:]):.0f} ms at most; "
          f"a screen scrolled in {scrolls[30]:.0f} ms")
    page.close()
