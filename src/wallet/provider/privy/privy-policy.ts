import type { Address } from 'viem';
import type { WalletAsset } from '../../../platform/config/wallet-assets.js';
import { PERMIT2, type SchemeContracts } from '../../../protocol/evm/contracts.js';
import { hubMessageShapes } from '../../hub/hub-message.js';
import { eip3009Message, permit2Message } from '../../rules/payment-message.js';
import { inAtomicUnits } from '../../rules/policy.js';
import type { TypedData } from '../../rules/spending.js';

/** Methods that a wallet may have besides payments; the operator chooses them for all wallets. */
type ExtraMethod = 'personal_sign' | 'eth_signTransaction';

interface PolicyTerms {
  readonly assets: readonly WalletAsset[];
  readonly networks: readonly {
    readonly chainId: number;
    readonly schemeContracts: Pick<SchemeContracts, 'permit2Proxy'>;
  }[];
  /** The limit of one payment, in 10^-18 of a token. */
  readonly maxPerPayment: bigint;
  readonly extraMethods: readonly ExtraMethod[];
  /** The address of the hub for the wallets' files, as in its signatures. */
  readonly hub?: Address | undefined;
}

interface TypedDataShape {
  readonly primary_type: string;
  readonly types: Record<string, { name: string; type: string }[]>;
}

type PolicyCondition =
  | {
      field_source: 'ethereum_typed_data_domain';
      field: 'chainId' | 'verifyingContract';
      operator: 'eq';
      value: string;
    }
  | {
      field_source: 'ethereum_typed_data_message';
      field: string;
      operator: 'eq' | 'lte';
      value: string;
      typed_data: TypedDataShape;
    }
  | {
      field_source: 'ethereum_transaction';
      field: 'chain_id' | 'value';
      operator: 'eq' | 'lte';
      value: string;
    };

export interface PolicyRule {
  name: string;
  method: 'eth_signTypedData_v4' | ExtraMethod;
  action: 'ALLOW';
  conditions: PolicyCondition[];
}

/**
 * The rules that Privy itself enforces, in case this service is compromised or wrong: the two kinds of payments, in
 * known tokens, up to a limit each. Privy denies what no rule names. Total limits are missing, because Privy adds up
 * only transactions, and only after signing.
 */
export function policyRules({
  assets,
  networks,
  maxPerPayment,
  extraMethods,
  hub,
}: PolicyTerms): PolicyRule[] {
  const proxies = new Map(
    networks.map(({ chainId, schemeContracts }) => [chainId, schemeContracts.permit2Proxy]),
  );
  const payments = assets.flatMap((token): PolicyRule[] => {
    const cap = inAtomicUnits(maxPerPayment, token.decimals).toString();
    const { symbol, chainId, eip712 } = token;
    const proxy = proxies.get(chainId);
    const rules: PolicyRule[] = [];
    if (eip712 !== undefined) {
      const message = eip3009Message({ ...token, eip712 }, NO_TERMS);
      const conditions = [...domain(chainId, token.address), field(message, 'value', 'lte', cap)];
      rules.push(allow(`EIP-3009 ${symbol} ${chainId}`, conditions));
    }
    if (proxy !== undefined && token.methods.includes('permit2')) {
      const message = permit2Message(token, proxy, NO_TERMS);
      const conditions = [
        ...domain(chainId, PERMIT2),
        field(message, 'spender', 'eq', proxy),
        field(message, 'permitted.token', 'eq', token.address),
        field(message, 'permitted.amount', 'lte', cap),
      ];
      rules.push(allow(`Permit2 ${symbol} ${chainId}`, conditions));
    }
    return rules;
  });
  return [
    ...payments,
    ...(hub === undefined ? [] : hubRules(hub)),
    ...extraMethods.flatMap((method) => extraRules(method, networks, maxPerPayment)),
  ];
}

/** A policy is made before the wallet, so it cannot name the wallet as owner, and checks only the shape. */
function hubRules(hub: Address): PolicyRule[] {
  const contract: PolicyCondition = {
    field_source: 'ethereum_typed_data_domain',
    operator: 'eq',
    field: 'verifyingContract',
    value: hub,
  };
  return hubMessageShapes(hub).map((shape) => {
    const time = 'expiry' in shape.message ? 'expiry' : 'until';
    return allow(`Files: ${shape.primaryType}`, [contract, field(shape, time, 'lte', TIME_MAX)]);
  });
}

/** Unix seconds: any time of a hub message. */
const TIME_MAX = Number.MAX_SAFE_INTEGER.toString();

const NO_TERMS = {
  from: '0x0000000000000000000000000000000000000000',
  payTo: '0x0000000000000000000000000000000000000000',
  amount: 0n,
  validAfter: 0n,
  deadline: 0n,
  nonce: 0n,
} as const;

function allow(name: string, conditions: PolicyCondition[]): PolicyRule {
  return { name, method: 'eth_signTypedData_v4', action: 'ALLOW', conditions };
}

function domain(chainId: number, contract: Address): PolicyCondition[] {
  const common = { field_source: 'ethereum_typed_data_domain', operator: 'eq' } as const;
  return [
    { ...common, field: 'chainId', value: chainId.toString() },
    { ...common, field: 'verifyingContract', value: contract },
  ];
}

function field(
  { primaryType, types }: TypedData,
  name: string,
  operator: 'eq' | 'lte',
  value: string,
): PolicyCondition {
  const shape = Object.fromEntries(
    Object.entries(types).map(([struct, fields]) => [struct, fields.map((one) => ({ ...one }))]),
  );
  return {
    field_source: 'ethereum_typed_data_message',
    field: name,
    operator,
    value,
    typed_data: { primary_type: primaryType, types: shape },
  };
}

/** Calldata is not checked here; the rules of this service limit transactions. */
function extraRules(
  method: ExtraMethod,
  networks: PolicyTerms['networks'],
  cap: bigint,
): PolicyRule[] {
  if (method === 'personal_sign') {
    return [{ name: 'Messages', method, action: 'ALLOW', conditions: [] }];
  }
  const source = { field_source: 'ethereum_transaction' } as const;
  return networks.map(({ chainId }) => ({
    name: `Transactions ${chainId}`,
    method,
    action: 'ALLOW',
    conditions: [
      { ...source, field: 'chain_id', operator: 'eq', value: chainId.toString() },
      { ...source, field: 'value', operator: 'lte', value: cap.toString() },
    ],
  }));
}
