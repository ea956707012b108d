import { ask, attempt, byId, say } from '../asking.js';
import { signingForm } from '../signing.js';

/**
 * The page where an owner approves one payment. It keeps nothing. Plain JavaScript: there is no build.
 */

const id = new URLSearchParams(location.search).get('id') ?? '';
const base = `../v1/asks/${encodeURIComponent(id)}`;

const OVER = {
  approved: 'You approved this. It is paid when your agent asks again.',
  denied: 'You said no to this. Nothing is paid.',
  expired: 'This was not answered in time. Nothing is paid.',
  used: 'You approved this, and the payment has been made.',
};

function close(status) {
  byId('answer').hidden = true;
  say(OVER[status] ?? '');
}

void attempt(async () => {
  const asked = await ask(base);
  const { decimal, symbol, network, asset } = asked.amount;
  byId('amount').textContent = `${decimal} ${symbol} (${asset} on ${network})`;
  byId('payTo').textContent = asked.payTo;
  byId('url').textContent = `${asked.method} ${asked.url}`;
  byId('intent').textContent = asked.intentId;
  byId('rule').textContent = asked.rule;
  byId('until').textContent = new Date(asked.expiresAt).toLocaleString();
  byId('asked').hidden = false;
  if (asked.status === 'awaiting_owner') byId('answer').hidden = false;
  else close(asked.status);
});

byId('deny').addEventListener('click', () =>
  attempt(async () => {
    await ask(`${base}/deny`, {});
    close('denied');
  }),
);

signingForm(byId('form'), {
  show: 'Show what I sign',
  send: 'Approve this payment',
  challenge: (address) => ask(`${base}/nonce`, { address }),
  submit: async (signed) => {
    await ask(`${base}/approve`, signed);
    close('approved');
  },
});
