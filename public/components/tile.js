import { html } from './html.js';

export const Tiles = ({ label, children }) =>
  html`<ul class="tiles" aria-label=${label}>
    ${children}
  </ul>`;

/**
 * One figure.
 *
 * @param note - what it is counted over, in a few words.
 * @param href - where there is more of it.
 */
export function Tile({ name, value, note, tone = '', href, isLong }) {
  return html`<li class=${`tile ${tone}`}>
    <span class="tile-name">${href === undefined ? name : html`<a href=${href}>${name}</a>`}</span>
    <strong class=${isLong ? 'long' : ''}>${value}</strong>
    ${note === undefined ? null : html`<span class="quiet">${note}</span>`}
  </li>`;
}
