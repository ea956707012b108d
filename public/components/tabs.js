import { html } from './html.js';

/** Links to the parts of a page. @param tabs - `{ name, href, isHere }` each. */
export const Tabs = ({ label, tabs }) =>
  html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      ({ name, href, isHere }) =>
        html`<a href=${href} aria-current=${isHere ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`;
