import { moment } from './format.js';
import { html } from './html.js';

/** @param at - ISO 8601, or milliseconds since the epoch. */
export function Time({ at }) {
  if (at === undefined || at === null || at === '') return null;
  const text = typeof at === 'number' ? new Date(at).toISOString() : at;
  return html`<time datetime=${text} title=${`${text} (UTC)`}>${moment(text)}</time>`;
}
