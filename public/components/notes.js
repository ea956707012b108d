/** Short words where something is missing, wrong, or off. */

import { html } from './html.js';

export const Empty = ({ children }) => html`<p class="empty quiet">${children}</p>`;

/** What failed; nothing where nothing did. */
export const ErrorBox = ({ error }) =>
  error === undefined
    ? null
    : html`<p class="error" role="alert">${typeof error === 'string' ? error : error.message}</p>`;

/** A feature that is off, in one line with what turns it on. */
export const Off = ({ children }) => html`<p class="off">${children}</p>`;

const GOOD = ['included', 'finalized', 'working', 'enabled', 'listed', 'delivered', 'sold'];
const BAD = ['reverted', 'expired', 'disabled', 'denied', 'failed', 'foreign', 'unclaimed'];

/** One word for how something stands. */
export function State({ name, tone }) {
  const own = tone ?? (GOOD.includes(name) ? 'good' : BAD.includes(name) ? 'bad' : 'warn');
  return html`<span class=${`state ${own}`}>${name}</span>`;
}
