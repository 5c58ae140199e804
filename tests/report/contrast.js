// SPDX-License-Identifier: Apache-2.0
// The contrast of every text that is shown with what is behind it, and of a cell of each kind (WCAG 2.1).
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // Grounds of a text: the nearest that is opaque, all colours of a gradient.
  const grounds = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const painted = style.backgroundImage.match(/(rgba?|color)\([^)]*\)/g);
      if (painted) return painted.map(rgba);
      const color = rgba(style.backgroundColor);
      if (color[3] === 255) return [color];
    }
    return [rgba("white")];
  };
  const ratio = (element) => {
    const text = luminance(rgba(getComputedStyle(element).color));
    return Math.min(...grounds(element).map(luminance).map((ground) => (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05)));
  };
  const legend = document.getElementById("legend");
  const kinds = ["ok", "off", "none", "unknown", "between", "down", "missing",
                 "more", ...[0, 1, 2, 3].map((n) => `s${n}`), ...[0, 1, 2, 3, 4, 5, 6].map((n) => `c${n}`)];
  const samples = kinds.map((kind) => {
    const cell = document.createElement("span");
    cell.className = "cell";
    cell.dataset.kind = kind;
    cell.textContent = "8";
    legend.append(cell);
    return cell;
  });
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const element = text.parentElement;
    const shown = text.data.trim() && element.checkVisibility() && !element.closest("script, .hidden, button:disabled");
    if (shown) found.push({text: text.data.trim().slice(0, 40), kind: element.dataset.kind || "", ratio: Math.round(ratio(element) * 100) / 100});
  }
  for (const sample of samples) sample.remove();
  return found;
})()
