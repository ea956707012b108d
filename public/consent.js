import { ask, attempt, byId, make, say } from '../../wallet/asking.js';
import { signingForm } from '../../wallet/signing.js';

/**
 * The page where an owner answers an application that asks by OAuth. It keeps nothing. Plain JavaScript:
 * there is no build.
 */

const base = location.pathname.replace(/\/+$/, '');

void attempt(async () => {
  const { client, host, scopes } = await ask(`${base}/request`);
  byId('name').textContent = client.name;
  byId('vouched').textContent =
    client.site === undefined ? 'nobody has checked' : `${client.site} says`;
  byId('host').textContent = host;
  byId('scopes').append(...scopes.map(({ name, means }) => make('li', {}, `${means} (${name})`)));
  byId('request').hidden = false;
});

byId('deny').addEventListener('click', () =>
  attempt(async () => {
    const { location: next } = await ask(`${base}/deny`, {});
    location.assign(next);
  }),
);

signingForm(byId('form'), {
  show: 'Show the rules',
  send: 'Let it in',
  challenge: (address) => ask(`${base}/nonce`, { address }),
  submit: async (signed) => {
    const { location: next } = await ask(`${base}/approve`, signed);
    say('It is in. You are sent back to it.');
    location.assign(next);
  },
});
