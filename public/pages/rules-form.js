/** Limits of a wallet: how they stand, and the form that changes them. */

import { html, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { Table } from '../components/table.js';

const networkOf = (asset) => asset.split('/')[0];

export const Limits = ({ label, limits, windowHours }) =>
  html`<${Table}
    label=${label}
    rows=${limits}
    keyOf=${({ asset }) => asset}
    empty="No payments."
    columns=${[
      { name: 'Token', cell: ({ symbol, asset }) => `${symbol} (${networkOf(asset)})` },
      { name: 'Per payment', cell: ({ perPayment }) => perPayment.decimal },
      { name: 'Ask me above', cell: ({ askAbove }) => askAbove?.decimal ?? 'never' },
      { name: `In ${windowHours} hours`, cell: ({ budget }) => budget.decimal },
      { name: 'Spent', cell: ({ spent }) => spent.decimal },
      { name: 'Left', cell: ({ left }) => left.decimal },
    ]}
  />`;

function Amount({ name, label, value }) {
  return html`<label>
    <span>${label}</span>
    <input
      name=${name}
      inputmode="decimal"
      pattern="[0-9]+([.][0-9]+)?"
      defaultValue=${value ?? ''}
      autocomplete="off"
      required=${name !== 'askAbove'}
    />
  </label>`;
}

/**
 * @param rules - as the service answers them.
 * @param assets - `{ asset, symbol }` each: what a limit may be set for.
 * @param save - takes the changed rules.
 */
export function RulesForm({ rules, assets, save, onClose }) {
  const [chosen, setChosen] = useState(rules.limits);
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);
  const others = assets.filter(({ asset }) => chosen.every((limit) => limit.asset !== asset));
  const onSubmit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const amounts = (name) => form.getAll(name).map((text) => text.trim());
    const [perPayment, askAbove, budget] = ['perPayment', 'askAbove', 'budget'].map(amounts);
    const limits = chosen.map(({ asset }, at) => ({
      asset,
      perPayment: { decimal: perPayment[at] },
      budget: { decimal: budget[at] },
      ...(askAbove[at] !== '' && { askAbove: { decimal: askAbove[at] } }),
    }));
    setBusy(true);
    try {
      await save({
        ...rules,
        limits,
        windowHours: Number(form.get('windowHours')),
        otherPayees: form.get('otherPayees') !== null,
      });
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<form id="rules-form" class="card" onSubmit=${onSubmit}>
    ${chosen.map(
      ({ asset, symbol, perPayment, askAbove, budget }) =>
        html`<fieldset class="fields" key=${asset}>
          <legend>${`${symbol} (${networkOf(asset)})`}</legend>
          <${Amount} name="perPayment" label="Most per payment" value=${perPayment?.decimal} />
          <${Amount}
            name="askAbove"
            label="Ask me above (empty: never)"
            value=${askAbove?.decimal}
          />
          <${Amount} name="budget" label="Budget" value=${budget?.decimal} />
          <button
            type="button"
            onClick=${() => setChosen(chosen.filter((limit) => limit.asset !== asset))}
          >
            Remove
          </button>
        </fieldset>`,
    )}
    <div class="buttons">
      ${others.map(
        (one) =>
          html`<button type="button" onClick=${() => setChosen([...chosen, one])}>
            Add ${one.symbol} (${networkOf(one.asset)})
          </button>`,
      )}
    </div>
    <label class="wide">
      <span>Hours that a budget is for</span>
      <input
        name="windowHours"
        type="number"
        min="1"
        max="720"
        defaultValue=${String(rules.windowHours)}
        required
      />
    </label>
    <p>
      <label
        ><input name="otherPayees" type="checkbox" defaultChecked=${rules.otherPayees} /> Any payee
        may be paid</label
      >
      ${
        rules.payeeLists.length > 0 &&
        html`<span class="quiet"> (off: only those on your lists, which stay as they are)</span>`
      }
    </p>
    <${ErrorBox} error=${error} />
    <div class="buttons">
      <button type="submit" class="primary" disabled=${isBusy}>Save limits</button>
      <button type="button" onClick=${onClose}>Cancel</button>
    </div>
  </form>`;
}
