import { Chains } from './chains.js';
import { short, wholeUnits } from './format.js';
import { html } from './html.js';

/** More would be a mistake of the token, or a joke. */
const DECIMALS_MOST = 36;

const isDecimals = (decimals) =>
  Number.isInteger(decimals) && decimals >= 0 && decimals <= DECIMALS_MOST;

/** Whole tokens with their symbol; smallest units where the token is not known here. */
export function Amount({ atomic, network, asset }) {
  if (atomic === undefined) return null;
  return html`<${Chains.Consumer}>
    ${({ tokenOf }) => {
      const { symbol, decimals } = tokenOf(network, asset) ?? {};
      return isDecimals(decimals)
        ? html`<span class="amount" title=${`${atomic} smallest units of ${asset}`}>
            ${wholeUnits(atomic, decimals)} <span class="symbol">${symbol ?? short(asset)}</span>
          </span>`
        : html`<span class="amount" title=${`${asset}: its decimals are not known here`}>
            ${wholeUnits(atomic, 0)} <span class="quiet">smallest units of ${short(asset)}</span>
          </span>`;
    }}
  <//>`;
}
