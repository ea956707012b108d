/** Money into a wallet and out of it, by the browser wallet of its owner, which pays the gas. */

import { browserWallet } from './signing.js';

const TRANSFER_TYPE = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];
const NAME = '0x06fdde03';
const VERSION = '0x54fd4d50';
/** `transfer(address,uint256)` of ERC-20. */
const TRANSFER = 'a9059cbb';
/** `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)` of EIP-3009. */
const TRANSFER_WITH_AUTHORIZATION = 'e3ee160e';
export const COIN = `0x${'00'.repeat(20)}`;
/** Until the transaction is in a block. */
const VALID_SECONDS = 900;

const word = (value) => BigInt(value).toString(16).padStart(64, '0');

const chainIdOf = (network) => Number(network.split(':')[1]);

/** A string as contracts return it; older ones return 32 bytes. */
function textOf(hex) {
  const bytes = Uint8Array.from(hex.slice(2).match(/../g) ?? [], (byte) => parseInt(byte, 16));
  if (bytes.length <= 32) return new globalThis.TextDecoder().decode(bytes).replace(/\0+$/, '');
  const length = parseInt(hex.slice(2 + 64, 2 + 128), 16);
  return new globalThis.TextDecoder().decode(bytes.slice(64, 64 + length));
}

async function sendByOwner(network, transaction) {
  const chainId = `0x${chainIdOf(network).toString(16)}`;
  await browserWallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
  return browserWallet.request({ method: 'eth_sendTransaction', params: [transaction] });
}

/**
 * Sends money of the owner to the wallet.
 *
 * @param atomic - smallest units, a decimal string.
 * @returns the hash of the transaction.
 */
export function addMoney({ owner, wallet, asset, network, atomic }) {
  const transaction =
    asset === COIN
      ? { from: owner, to: wallet, value: `0x${BigInt(atomic).toString(16)}` }
      : { from: owner, to: asset, data: `0x${TRANSFER}${word(wallet)}${word(atomic)}` };
  return sendByOwner(network, transaction);
}

/**
 * Sends money of the wallet to its owner: the wallet signs a transfer (EIP-3009) within its rules, and the owner's
 * browser wallet sends it.
 *
 * @param call - asks the wallet: `POST /v1/wallets/me/rpc`.
 * @returns the hash of the transaction.
 */
export async function withdraw({ owner, wallet, asset, network, atomic, call }) {
  const read = async (data) => {
    const { data: answer } = await call({
      method: 'eth_call',
      caip2: network,
      params: [{ to: asset, data }],
    });
    return textOf(answer.result);
  };
  const [name, version] = [await read(NAME), await read(VERSION).catch(() => '1')];
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const message = {
    from: wallet,
    to: owner,
    value: atomic,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + VALID_SECONDS),
    nonce: `0x${[...nonce].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  };
  const domain = { name, version, chainId: chainIdOf(network), verifyingContract: asset };
  const { data } = await call({
    method: 'eth_signTypedData_v4',
    params: {
      typed_data: {
        domain,
        types: { TransferWithAuthorization: TRANSFER_TYPE },
        primaryType: 'TransferWithAuthorization',
        message,
      },
    },
  });
  const signature = data.signature.slice(2);
  const parts = [wallet, owner, atomic, message.validAfter, message.validBefore, message.nonce];
  const words = [
    ...parts.map(word),
    word(`0x${signature.slice(128, 130)}`),
    signature.slice(0, 64),
    signature.slice(64, 128),
  ];
  const calldata = `0x${TRANSFER_WITH_AUTHORIZATION}${words.join('')}`;
  return sendByOwner(network, { from: owner, to: asset, data: calldata });
}
