/** Preact with htm. Pages are made of text and elements alone: nothing from outside is read as HTML. */

import { plain } from './format.js';
import htm from './htm.js';
import { h } from './preact.js';

export { useEffect, useLayoutEffect, useRef, useState } from './hooks.js';
export { createContext, Fragment, render } from './preact.js';

function shown(child) {
  if (typeof child === 'string') return plain(child);
  return Array.isArray(child) ? child.map(shown) : child;
}

/** What stands in an attribute is read as well; what a person typed stays as it was typed. */
function attributesOf(given) {
  const entries = Object.entries(given ?? {}).map(([name, value]) =>
    typeof value === 'string' && name !== 'value' && name !== 'defaultValue'
      ? [name, plain(value)]
      : [name, value],
  );
  return Object.fromEntries(entries);
}

function element(type, attributes, ...children) {
  const own = typeof type === 'string' ? attributesOf(attributes) : attributes;
  return h(type, own, ...children.map(shown));
}

export const html = htm.bind(element);
