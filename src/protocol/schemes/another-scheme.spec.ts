import { beforeAll, describe, expect, it } from '@jest/globals';
import { anAcceptedPayment } from '../../../test/builders/protocol/payment/accepted-payment.js';
import {
  anAcceptedNote,
  aNoteAuthorization,
  aNotePayment,
  ASSET,
  collectedLogs,
  PAYER,
  readNote,
} from '../../../test/builders/protocol/schemes/toy-payment.js';
import {
  COLLECT_SELECTOR,
  COUNTER,
  NOTE_METHOD,
  TILL,
  TOY_SCHEME,
} from '../../../test/builders/protocol/schemes/toy-scheme.js';
import { uintWord } from '../evm/abi-words.js';
import { aggregateCall } from '../evm/calls.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../evm/contracts.js';
import { decodePayment, encodePayment } from '../payment/accepted-payment-codec.js';
import { identityOf, termsOf } from '../payment/identity.js';
import { callOf, settlementOf } from '../payment/payment-facts.js';
import { creditLogs } from './credit.js';
import { presentedAuthorizations } from './presented.js';
import { isMethodName, registerScheme } from './registry.js';

/** Every question of the protocol, put to a scheme that answers none of them as those that are served. */
describe('a scheme that is added to the registry', () => {
  beforeAll(() => {
    expect(readNote()).toMatchObject({ ok: false, reason: 'unsupported_scheme' });
    expect(isMethodName(NOTE_METHOD)).toBe(false);
    registerScheme(TOY_SCHEME);
  });

  it('is registered once, and takes nothing from another one', () => {
    const [action] = TOY_SCHEME.actions;
    if (action === undefined) throw new Error('no action');
    const other = { ...TOY_SCHEME, name: 'other' };
    expect(() => {
      registerScheme(TOY_SCHEME);
    }).toThrow('scheme toy is registered');
    expect(() => {
      registerScheme(other);
    }).toThrow(`selector ${COLLECT_SELECTOR} is taken`);
    const method = { ...action.method };
    expect(() => {
      registerScheme({ ...other, actions: [{ ...action, method }] });
    }).toThrow('transfer method note is registered with another definition');
  });

  it('is parsed by itself, in the versions that have it', () => {
    const { claim, payerAsSent } = aNotePayment();
    const name = { scheme: 'toy', method: NOTE_METHOD };
    expect(claim).toMatchObject({ ...name, from: PAYER, nonce: 7n, ceiling: 1000n });
    expect(payerAsSent).toBe(PAYER);
    expect(readNote({ serial: 'x' })).toMatchObject({ reason: 'invalid_payload' });
    expect(readNote({}, 1)).toMatchObject({
      reason: 'unsupported_scheme',
      correspondent: { payerAsSent: PAYER },
    });
  });

  it('names what the chain executes at most once', () => {
    const identity = identityOf(aNotePayment());
    expect(identity).toEqual(identityOf(aNotePayment({ serial: '0x07' })));
    expect(identityOf(aNotePayment({ serial: '8' }))?.authorizationId).not.toBe(
      identity?.authorizationId,
    );
    const raised = identityOf(aNotePayment({ ceiling: '2000' }));
    expect(raised?.authorizationId).toBe(identity?.authorizationId);
    expect(raised?.termsTag).not.toBe(identity?.termsTag);
    const { authorizationId, termsTag } = termsOf(56, ASSET, aNoteAuthorization);
    expect(identity).toMatchObject({ authorizationId, termsTag });
  });

  it('builds the call, and says what it moves', () => {
    const { to, data } = callOf(anAcceptedNote);
    expect(to).toBe(COUNTER);
    expect(data.slice(0, 10)).toBe(`0x${COLLECT_SELECTOR}`);
    expect(data.endsWith(uintWord(900))).toBe(true);
    expect(settlementOf(anAcceptedNote, undefined, 5n)).toEqual({
      call: { to, data },
      sender: undefined,
      isSenderBound: true,
      gas: 5n,
      token: ASSET,
      payer: PAYER,
      payTo: TILL,
      amount: 900n,
    });
  });

  it('is credited by its own evidence, beside payments of other schemes', () => {
    const items = [
      { id: 'toy', payment: anAcceptedNote },
      { id: 'exact', payment: anAcceptedPayment() },
    ];
    expect([...creditLogs(items, collectedLogs())]).toEqual([['toy', 1]]);
    expect([...creditLogs(items, collectedLogs(8n))]).toEqual([]);
    expect([...creditLogs(items, collectedLogs().slice(1))]).toEqual([]);
  });

  it('is read from its calldata, and from the JSON of the ledger', () => {
    const { to, data } = aggregateCall([callOf(anAcceptedNote)]);
    const presented = { method: NOTE_METHOD, token: ASSET, from: PAYER, to: TILL };
    expect(presentedAuthorizations(to, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([
      { ...presented, amount: 900n, nonce: 7n },
    ]);
    expect(decodePayment(encodePayment(anAcceptedNote))).toEqual(anAcceptedNote);
  });
});
