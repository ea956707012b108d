import type { Address, Hex } from 'viem';
import { MULTICALL3, type SandboxClient } from '../../sandbox/deploy.js';
import { TOKEN_ABI } from '../../sandbox/tokens.js';
import type { Answered } from './load.js';
import { AMOUNT, type Kind, type PaymentFactory } from './payment-factory.js';

/** The state of the chain before a run, to compare with after it. */
interface Audit {
  /**
   * Compares the answers with the chain. Empty when every answered success is a payment that landed, every payment that
   * landed was answered, and each transaction of the signers belongs to an answer.
   */
  findings(answers: readonly Answered[]): Promise<readonly string[]>;
}

/** @param signers - every key of the facilitator under test. */
export async function beginAudit(
  client: SandboxClient,
  factory: PaymentFactory,
  kind: Kind,
  signers: readonly Address[],
): Promise<Audit> {
  const token = factory.tokenOf(kind);
  const [balance, nonces] = await Promise.all([
    totalBalance(client, token, factory.payees),
    totalNonces(client, signers, 'latest'),
  ]);
  return {
    findings: async (answers) => {
      const [after, used, pending] = await Promise.all([
        totalBalance(client, token, factory.payees),
        totalNonces(client, signers, 'latest'),
        totalNonces(client, signers, 'pending'),
      ]);
      const paid = (after - balance) / AMOUNT;
      const transactions = new Set(answers.map(transactionOf)).size;
      const findings: string[] = [];
      if (paid !== BigInt(answers.length)) {
        findings.push(`${answers.length} successes were told, ${paid} payments landed`);
      }
      if (used !== pending) findings.push(`${pending - used} transactions are still pending`);
      if (used - nonces !== transactions) {
        findings.push(`${used - nonces} account nonces were used for ${transactions} transactions`);
      }
      return findings;
    },
  };
}

export function transactionOf({ body }: Answered): Hex {
  return String(body['transaction']) as Hex;
}

async function totalBalance(
  client: SandboxClient,
  token: Address,
  owners: readonly Address[],
): Promise<bigint> {
  const balances = await client.multicall({
    multicallAddress: MULTICALL3,
    allowFailure: false,
    contracts: owners.map((owner) => ({
      address: token,
      abi: TOKEN_ABI,
      functionName: 'balanceOf' as const,
      args: [owner] as const,
    })),
  });
  return balances.reduce((sum, one) => sum + one, 0n);
}

async function totalNonces(
  client: SandboxClient,
  signers: readonly Address[],
  blockTag: 'latest' | 'pending',
): Promise<number> {
  const counts = await Promise.all(
    signers.map((address) => client.getTransactionCount({ address, blockTag })),
  );
  return counts.reduce((sum, one) => sum + one, 0);
}
