/** Where in the console somebody is: behind the `#` of the address, so that no log of a server has it. */

import { queryOf } from '../components/format.js';

export function placeOf(hash) {
  const [page, query = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    page: page === '' ? 'overview' : page,
    fields: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function hrefOf(page, fields = {}) {
  const query = queryOf(fields);
  return `#/${page}${query === '' ? '' : `?${query}`}`;
}

export function go(page, fields) {
  location.hash = hrefOf(page, fields);
}
