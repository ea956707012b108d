import { Empty } from './notes.js';
import { html } from './html.js';

/**
 * A table, and on a narrow screen a card for each row. Roles are named, for a table that is shown as blocks is none to
 * those who hear it.
 *
 * @param columns - `{ name, cell: (row) => content, isNumber?, isLong? }` each.
 * @param keyOf - names a row among the others.
 */
export function Table({ label, columns, rows, keyOf, empty }) {
  if (rows.length === 0) return html`<${Empty}>${empty}<//>`;
  return html`<table role="table" aria-label=${label}>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(
          ({ name, isNumber }) =>
            html`<th role="columnheader" scope="col" class=${isNumber ? 'number' : ''}>
              ${name === '' ? html`<span class="offscreen">Actions</span>` : name}
            </th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row, index) =>
          html`<tr role="row" key=${keyOf?.(row) ?? index}>
            ${columns.map(({ name, cell, isNumber, isLong }) => {
              const kind = [isNumber && 'number', isLong && 'long'].filter(Boolean).join(' ');
              return html`<td role="cell" data-name=${name} class=${kind}>
                <div>${cell(row)}</div>
              </td>`;
            })}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
