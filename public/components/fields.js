/** A form that asks a list: what is chosen stands in the address, so that it can be kept and passed on. */

import { html } from './html.js';

function Control({ name, label, value, options, type = 'text', ...more }) {
  if (options !== undefined) {
    return html`<select name=${name}>
      ${options.map(
        ([key, text]) =>
          html`<option value=${key} selected=${key === (value ?? '')}>${text}</option>`,
      )}
    </select>`;
  }
  return html`<input
    name=${name}
    type=${type}
    defaultValue=${value ?? ''}
    spellcheck=${false}
    autocomplete="off"
    aria-label=${label}
    ...${more}
  />`;
}

/**
 * @param fields - `{ name, label, options?, type?, placeholder? }` each.
 * @param values - by name.
 * @param isAsked - whether there is something to clear.
 * @param onAsk - takes the fields that were filled in.
 */
export function Fields({ label, fields, values, submit = 'Filter', isAsked, onAsk }) {
  const onSubmit = (event) => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].map(([name, text]) => [name, text.trim()]);
    onAsk(Object.fromEntries(given.filter(([, text]) => text !== '')));
  };
  // One that was asked by a link shows what the link asked.
  return html`<form
    class="fields"
    aria-label=${label}
    key=${JSON.stringify(values)}
    onSubmit=${onSubmit}
  >
    ${fields.map(
      (field) =>
        html`<label class=${field.isWide ? 'wide' : ''}>
          <span>${field.label}</span>
          <${Control} ...${field} value=${values[field.name]} />
        </label>`,
    )}
    <div class="buttons">
      <button type="submit" class="primary">${submit}</button>
      ${
        (isAsked ?? fields.some(({ name }) => (values[name] ?? '') !== '')) &&
        html`<button type="button" onClick=${() => onAsk({})}>Clear</button>`
      }
    </div>
  </form>`;
}
