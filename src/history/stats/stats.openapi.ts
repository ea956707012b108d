import { describing, jsonAnswer, OPEN, RATE, TOO_MANY } from '../../platform/http/openapi.js';
import { NO_ARCHIVE } from '../sellers/sellers.openapi.js';
import { Stats } from './dto/stats.response.js';

const DAY = { payments: '2', amount: '20000', tokens: '0.02', payers: '1', payees: '1' };
const ALL = { payments: '12', amount: '150000', tokens: '0.15', payers: '4', payees: '3' };
const EXAMPLE = {
  asOf: '2026-11-26T12:00:00.000Z',
  networks: {
    'eip155:8453': {
      '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': {
        symbol: 'USDC',
        decimals: 6,
        txCount: 12,
        totalAmount: '150000',
        windows: { '24h': DAY, '7d': ALL, '30d': ALL, all: ALL },
      },
    },
  },
};

/** The description of `GET /stats`. */
export const DescribesStats = (): MethodDecorator =>
  describing({ tag: 'Look-ups', security: OPEN }, { 429: TOO_MANY, ...NO_ARCHIVE })(
    'stats',
    'Totals of payments, by network and asset',
    { 200: jsonAnswer('The totals.', Stats, EXAMPLE, RATE) },
    'Payments that are final, from the history. Windows begin with a full hour (UTC) of the claim. The 200 assets that were ' +
      'paid with most often are listed. An answer is kept for a minute. Not served where `PUBLIC_STATS` is false.',
  );
