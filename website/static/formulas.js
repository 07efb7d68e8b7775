// Keeps a formula on one line with what touches it. A browser may break the line on both sides of
// a formula, so that a period after it begins the next line.
for (const formula of document.querySelectorAll("span.math")) {
  const { previousSibling: before, nextSibling: after } = formula;
  const head = before instanceof Text ? before.data.match(/[^\s–—]*$/)[0] : "";
  const tail = after instanceof Text ? after.data.match(/^[^\s–—-]*-?/)[0] : "";
  if (head || tail) {
    const together = document.createElement("span");
    together.className = "together";
    formula.before(together);
    together.append(head, formula, tail);
    if (head) before.data = before.data.slice(0, -head.length);
    if (tail) after.data = after.data.slice(tail.length);
  }
}
