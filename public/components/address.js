import { Chains } from './chains.js';
import { CopyButton } from './copy-button.js';
import { short } from './format.js';
import { html } from './html.js';

function ExplorerLink({ href, label }) {
  if (href === undefined) return null;
  return html`<a
    class="icon"
    href=${href}
    target="_blank"
    rel="noreferrer"
    aria-label=${`${label} in the block explorer`}
    title="Block explorer"
  >
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path
        d="M9.5 2.5h4v4M13.5 2.5l-6 6M11.5 9.5v3a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1h3"
      />
    </svg>
  </a>`;
}

function Hex({ value, network, kind, isShort }) {
  if (value === undefined || value === '') return null;
  return html`<${Chains.Consumer}>
    ${({ linkOf }) =>
      html`<span class="hex">
        <code title=${isShort ? value : undefined}>${isShort ? short(value) : value}</code>
        <${CopyButton} text=${value} />
        ${kind && html`<${ExplorerLink} href=${linkOf(network, kind, value)} label=${value} />`}
      </span>`}
  <//>`;
}

/** A whole address, to copy or to look up. */
export const Address = ({ value, network }) =>
  html`<${Hex} value=${value} network=${network} kind="address" />`;

/** The hash of a transaction; short in lists, where its copy is whole. */
export const Transaction = ({ value, network, isShort = false }) =>
  html`<${Hex} value=${value} network=${network} kind="tx" isShort=${isShort} />`;

/** Anything else that is long and copied, such as an id. */
export const Id = ({ value, isShort = false }) =>
  html`<${Hex} value=${value} isShort=${isShort} />`;
