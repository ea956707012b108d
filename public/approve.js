import { ask, byId, say } from '../asking.js';
import { signingForm } from '../signing.js';

/** The page where an owner lets an agent in. It keeps nothing. Plain JavaScript: there is no build. */

const code = new URLSearchParams(location.search).get('code') ?? '';

byId('code').textContent = code || 'none: open the link that the agent shows';

signingForm(byId('form'), {
  show: 'Show the rules',
  send: 'Let it in',
  challenge: (address) => ask('../v1/approve/nonce', { code, address }),
  submit: async (signed) => {
    await ask('../v1/approve', { code, ...signed });
    byId('approval').hidden = true;
    say('The agent is in. You can close this page.');
  },
});
