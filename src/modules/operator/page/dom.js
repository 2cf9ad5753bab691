/** Builds and updates elements. Whatever comes from outside enters as text, never as markup. */

/** An element with attributes and children; a child that is no element becomes text. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Writes a text where it is another one: what has not changed is not laid out again, and no selection is lost. */
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

export function mark(element, name, value) {
  if (value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

const PARTS = new WeakMap();

/**
 * Makes the children of `parent` those of `items`: one that was there before is kept and updated, so that focus and
 * whatever is open stay. `make` returns `{ root, … }`, which `update` gets with its item.
 */
export function sync(parent, items, keyOf, make, update) {
  const before = PARTS.get(parent) ?? new Map();
  const after = new Map();
  items.forEach((item, at) => {
    const key = keyOf(item, at);
    const part = before.get(key) ?? make(item);
    before.delete(key);
    after.set(key, part);
    update(part, item);
    if (parent.children[at] !== part.root) parent.insertBefore(part.root, parent.children[at] ?? null);
  });
  for (const { root } of before.values()) root.remove();
  PARTS.set(parent, after);
}
