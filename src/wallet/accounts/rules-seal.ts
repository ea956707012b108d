import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { z } from 'zod';
import { type Policy, policyText, readPolicy } from '../rules/policy.js';
import { RecordSeal } from '../seal/record-seal.js';

const StoredRules = z.object({ v: z.literal(1), revision: z.int(), policy: z.unknown() });

/** Rules as Redis keeps them. Only a wallet process can write them. */
@Injectable()
export class RulesSeal {
  constructor(private readonly records: RecordSeal) {}

  seal(wallet: Address, policy: Policy): string {
    const text = JSON.stringify({ v: 1, revision: policy.revision, policy: policyText(policy) });
    return this.records.seal(contextOf(wallet), text);
  }

  /** `undefined` for rules that this service did not write, or that belong to another wallet. */
  open(wallet: Address, sealed: string): Policy | undefined {
    const text = this.records.open(contextOf(wallet), sealed);
    if (text === undefined) return undefined;
    const { revision, policy } = StoredRules.parse(JSON.parse(text));
    const read = readPolicy(policy, revision);
    return read.ok ? read.policy : undefined;
  }
}

function contextOf(wallet: Address): string {
  return `rules:${wallet}`;
}
