"""What a page measures of itself: how wide it is, and which text is too faint."""

SIDEWAYS = "() => document.scrollingElement.scrollWidth - innerWidth"

FAINT = """(least) => {
  const parse = text => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((part, index) => part * a + below[index] * (1 - a));
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.backgroundColor = "Canvas";
  const canvas = parse(getComputedStyle(probe).backgroundColor).slice(0, 3);
  probe.remove();
  const ground = element => {
    if (!element) return canvas;
    return over(parse(getComputedStyle(element).backgroundColor), ground(element.parentElement));
  };
  const luminance = rgb => {
    const [r, g, b] = rgb.map(part => part / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = element => {
    const style = getComputedStyle(element), below = ground(element);
    const text = over(parse(element.namespaceURI.endsWith("svg") ? style.fill : style.color), below);
    const [high, low] = [luminance(text), luminance(below)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = new Map();
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (text.data.trim() && element.checkVisibility() && element.tagName !== "title") {
      found.set(text.data.trim(), contrast(element));
    }
  }
  return { count: found.size, faint: [...found].filter(([_, ratio]) => ratio < least), canvas };
}"""
"""The texts of a page whose contrast with what is behind them is less than given, by WCAG's formula."""
