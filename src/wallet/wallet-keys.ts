import { createHash } from 'node:crypto';

/**
 * Every Redis key of the wallet, with the function that builds it. Redis is a working copy: data that must outlive it
 * is in the journal (`audit/journal.ts`), and a wallet is locked until it is restored. Only wallet processes can read
 * and make sealed records (`seal/record-seal.ts`).
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `x402:wl:gen` | string | always | a random name of this Redis's content; gone after a loss |
 * | `x402:wl:w:<wallet>` | hash | always | `gen` under which it was restored, `rev`, `rules` (sealed), `force`: whether the journal has them in force, `nb`: tokens issued before (seconds) are void |
 * | `x402:wl:e:<wallet>` | hash | 30 days and a window | charges by spending id: `2\|asset\|amount\|payTo\|deadline\|flag` |
 * | `x402:wl:z:<wallet>` | zset | while in the window | ids of charges that count now, by deadline, seconds |
 * | `x402:wl:o:<wallet>` | zset | 30 days and a window | ids of charges that left the window |
 * | `x402:wl:d:<wallet>` | zset | 30 days and a window | ids of released charges, which are never charged again |
 * | `x402:wl:s:<wallet>` | hash | while not 0 | sums of the counted charges, by asset and by `asset\|payTo` |
 * | `x402:wl:due` | zset | until looked up on chain | charges, JSON, by deadline, seconds |
 * | `x402:wl:pk` | hash | always | passkeys of owners: `k:<owner>` key (sealed), `i:<tag>` owner of a credential, `n:<owner>` uses, `u:<owner>`: the journal may not have it yet, `whole`: the generation under which all of the journal are in |
 * | `x402:wl:pkn:<owner>:<tag>` | string | an hour | a new passkey that was not used yet (sealed) |
 * | `x402:wl:pkn:<tag>` | string | an hour | the owner of its credential |
 * | `x402:wl:heads` | hash | always | known lines of each file of the journal (sealed) |
 * | `x402:wl:i:<wallet>:<tag>` | string | `RETENTION_DAYS` | an intent to buy: how often it was charged, a slash, and the intent (sealed) |
 * | `x402:wl:h:<wallet>` | zset | newest 200 | intents by time, for the history |
 * | `x402:wl:l:<name>` | string | seconds | a lock |
 * | `x402:wl:c:<user code>` | string | 10 minutes | hash of the device code's secret, and the state of the approval
 * (sealed) |
 * | `x402:wl:n:<nonce>`, `x402:wl:n:for:<tag>` | string | 10 minutes | the message to sign: of a nonce, or the newest
 * one for a code, a client's request or a request for approval (sealed) |
 * | `x402:wl:t:<token id>` | string | life of a token | a revoked token |
 * | `x402:wl:tl:<wallet>` | hash | to the end of its last | issued tokens, by id: end in seconds, a bar, and how (sealed) |
 * | `x402:wl:u:<token id>` | string | life of a token or grant | when it was last used, seconds |
 * | `x402:wl:k:<wallet>:<tag>` | string | 1 day | an idempotency key, the request it came with and its reply (sealed) |
 * | `x402:wl:x:<wallet>:<tag>` | string | 1 day | a transaction in progress: first the unsigned one, then the signed
 * one (sealed) |
 * | `x402:wl:oa:<kind>:<tag>` | string | as the kind | a record of the authorization server: a code, a token, an open
 * request (sealed) |
 * | `x402:wl:oc:<tag>` | string | a day; half a year once an owner approved it | the network a client registered from,
 * a space, and the client (sealed) |
 * | `x402:wl:ow` | zset | 10 000 at most | tags of clients that no owner approved yet, by the time until which they are
 * needed, seconds |
 * | `x402:wl:own:<network>` | zset | 100 at most | the waiting clients of one network |
 * | `x402:wl:ok:<owner>` | zset | 50 at most, half a year | tags of the clients that an owner approved, by time,
 * seconds |
 * | `x402:wl:oo:<tag>` | string | as its client | the number of these lists that name a client |
 * | `x402:wl:okn:<network>` | zset | 10 000 at most, half a year | the approved clients of one network |
 * | `x402:wl:og:<tag>` | string | life of a grant | a grant: its owner, its client and its scopes (sealed) |
 * | `x402:wl:ol:<owner>` | zset | life of a grant | tags of an owner's grants, by their end, seconds |
 * | `x402:wl:lk` | zset | until the hub knows | links that ended with their tokens: owner, beginning of their nonces
 * and the time, by the time of the next notification of the hub, seconds |
 * | `x402:wl:a:<ask>` | string | until it expires, and a day | a request for approval: its state, the charge that used
 * it, and the request (sealed) |
 * | `x402:wl:ai:<wallet>:<tag>` | string | as its request | the newest request of an intent |
 * | `x402:wl:al:<wallet>` | zset | 20 at most | requests that have not expired, by their expiry, seconds |
 *
 * Amounts are decimal, left-padded to 78 digits, so that they compare as texts.
 */
export const WALLET_PREFIX = 'x402:wl:';

export const generationKey = (): string => `${WALLET_PREFIX}gen`;
export const walletKey = (wallet: string): string => `${WALLET_PREFIX}w:${wallet}`;
export const intentKey = (wallet: string, intentId: string): string =>
  `${WALLET_PREFIX}i:${wallet}:${tagOf(intentId)}`;
export const historyKey = (wallet: string): string => `${WALLET_PREFIX}h:${wallet}`;
export const lockKey = (name: string): string => `${WALLET_PREFIX}l:${name}`;
export const codeKey = (userCode: string): string => `${WALLET_PREFIX}c:${userCode}`;
export const nonceKey = (nonce: string): string => `${WALLET_PREFIX}n:${nonce}`;
export const revokedTokenKey = (tokenId: string): string => `${WALLET_PREFIX}t:${tokenId}`;
export const tokensKey = (wallet: string): string => `${WALLET_PREFIX}tl:${wallet}`;
export const tokenUseKey = (tokenId: string): string => `${WALLET_PREFIX}u:${tokenId}`;
export const replyKey = (wallet: string, idempotencyKey: string): string =>
  `${WALLET_PREFIX}k:${wallet}:${tagOf(idempotencyKey)}`;
export const sentTransactionKey = (wallet: string, idempotencyKey: string): string =>
  `${WALLET_PREFIX}x:${wallet}:${tagOf(idempotencyKey)}`;
export const oauthRecordKey = (kind: string, id: string): string =>
  `${WALLET_PREFIX}oa:${kind}:${tagOf(id)}`;
export const oauthClientKey = (tag: string): string => `${WALLET_PREFIX}oc:${tag}`;
export const waitingClientsKey = (): string => `${WALLET_PREFIX}ow`;
export const waitingClientsOfKey = (network: string): string => `${WALLET_PREFIX}own:${network}`;
export const clientsOfOwnerKey = (owner: string): string => `${WALLET_PREFIX}ok:${owner}`;
export const ownersOfClientKey = (tag: string): string => `${WALLET_PREFIX}oo:${tag}`;
export const clientsOfNetworkKey = (network: string): string => `${WALLET_PREFIX}okn:${network}`;
export const grantKey = (tag: string): string => `${WALLET_PREFIX}og:${tag}`;
export const grantsOfKey = (owner: string): string => `${WALLET_PREFIX}ol:${owner}`;
export const newPasskeyKey = (name: string): string => `${WALLET_PREFIX}pkn:${name}`;
export const passkeysKey = (): string => `${WALLET_PREFIX}pk`;
export const askKey = (id: string): string => `${WALLET_PREFIX}a:${id}`;
export const askOfIntentKey = (wallet: string, intentId: string): string =>
  `${WALLET_PREFIX}ai:${wallet}:${tagOf(intentId)}`;
export const asksOfKey = (wallet: string): string => `${WALLET_PREFIX}al:${wallet}`;
export const anchorKey = (): string => `${WALLET_PREFIX}heads`;
export const endedLinksKey = (): string => `${WALLET_PREFIX}lk`;
export const dueKey = (): string => `${WALLET_PREFIX}due`;

/** A short name for a text of any length and content. */
export function tagOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 32);
}
