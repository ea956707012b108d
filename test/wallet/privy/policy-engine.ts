import { isDeepStrictEqual } from 'node:util';

/** The part of Privy's policy engine that is used here: ALLOW rules, everything else is denied. */

interface Condition {
  readonly field_source: string;
  readonly field: string;
  readonly operator: string;
  readonly value: string;
  readonly typed_data?: { readonly primary_type: string; readonly types: unknown };
}

export interface Rule {
  readonly method: string;
  readonly action: string;
  readonly conditions: readonly Condition[];
}

export interface RpcRequest {
  readonly method: string;
  readonly params: {
    readonly typed_data?: {
      readonly domain: Readonly<Record<string, unknown>>;
      readonly types: unknown;
      readonly primary_type: string;
      readonly message: Readonly<Record<string, unknown>>;
    };
    readonly transaction?: Readonly<Record<string, unknown>>;
    readonly message?: string;
    readonly encoding?: string;
  };
}

export function isAllowed(rules: readonly Rule[], request: RpcRequest): boolean {
  return rules.some(
    ({ method, action, conditions }) =>
      action === 'ALLOW' &&
      method === request.method &&
      conditions.every((condition) => holds(condition, request)),
  );
}

function holds(condition: Condition, { params }: RpcRequest): boolean {
  const { field, operator, value } = condition;
  const actual = valueOf(condition, params);
  if (actual === undefined) return false;
  // As they are written: an address in another letter case is another text.
  if (operator === 'eq') return `${actual as string | number}` === value;
  if (operator === 'lte') return BigInt(actual as string) <= BigInt(value);
  throw new Error(`the fixture knows no operator ${operator} (${field})`);
}

function valueOf(
  { field_source: source, field, typed_data: shape }: Condition,
  { typed_data: data, transaction }: RpcRequest['params'],
): unknown {
  switch (source) {
    case 'ethereum_typed_data_domain':
      return data?.domain[field];
    case 'ethereum_typed_data_message': {
      if (data?.primary_type !== shape?.primary_type) return undefined;
      if (!isDeepStrictEqual(data?.types, shape?.types)) return undefined;
      return field
        .split('.')
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], data?.message);
    }
    case 'ethereum_transaction':
      return transaction?.[field];
    default:
      throw new Error(`the fixture knows no source ${source}`);
  }
}
