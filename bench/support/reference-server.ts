import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator';
import { UptoEvmScheme } from '@x402/evm/upto/facilitator';
import express from 'express';
import { createWalletClient, type Hex, http, nonceManager, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * The reference facilitator as its own examples run it: its classes on Express, one process, one
 * signer. viem's nonce manager is added, without which most concurrent settles fail.
 *
 * Arguments: port, RPC URL, chain id, V1 network name, signer key.
 */
const [port = '0', rpcUrl = '', chainId = '0', v1Network = '', key = '0x'] = process.argv.slice(2);

const account = privateKeyToAccount(key as Hex, { nonceManager });
const client = createWalletClient({
  account,
  // Its receipt wait polls at this interval; viem's default for this block time.
  pollingInterval: 500,
  transport: http(rpcUrl),
  chain: {
    id: Number(chainId),
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    blockTime: 450,
  },
}).extend(publicActions);
const signer = toFacilitatorEvmSigner({
  ...client,
  address: account.address,
} as unknown as Parameters<typeof toFacilitatorEvmSigner>[0]);
const facilitator = new x402Facilitator()
  .register(`eip155:${Number(chainId)}`, new ExactEvmScheme(signer))
  .register(`eip155:${Number(chainId)}`, new UptoEvmScheme(signer))
  .register(`eip155:${Number(chainId)}`, new BatchSettlementEvmScheme(signer))
  .registerV1(v1Network as `${string}:${string}`, new ExactEvmSchemeV1(signer));

const app = express();
app.use(express.json());

interface Body {
  readonly paymentPayload: PaymentPayload;
  readonly paymentRequirements: PaymentRequirements;
}

app.post('/verify', async (request, response) => {
  const { paymentPayload, paymentRequirements } = request.body as Body;
  try {
    response.json(await facilitator.verify(paymentPayload, paymentRequirements));
  } catch (error) {
    response.status(500).json({ error: error instanceof Error ? error.message : 'unknown' });
  }
});
app.post('/settle', async (request, response) => {
  const { paymentPayload, paymentRequirements } = request.body as Body;
  try {
    response.json(await facilitator.settle(paymentPayload, paymentRequirements));
  } catch (error) {
    response.status(500).json({ error: error instanceof Error ? error.message : 'unknown' });
  }
});
app.listen(Number(port), '127.0.0.1', () => {
  console.log('Facilitator listening');
});
