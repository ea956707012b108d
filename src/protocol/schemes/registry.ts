import type { Hex } from 'viem';
import type { ActionMethod, ActionName } from '../evm/transfer-method.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { ActionKind, AuthorizationMethod } from './authorization-method.js';
import { BATCH_SETTLEMENT_SCHEME } from './batch-settlement/batch-settlement.js';
import { EXACT } from './exact/exact.js';
import type { Action, ChannelAction, ClaimRules, Scheme } from './scheme.js';
import { UPTO } from './upto/upto.js';

/** Every scheme of this service. All rules of a payment belong to its scheme. */

/** The scheme of claims, authorizations and records without a scheme name. */
export const DEFAULT_SCHEME = EXACT.name;

/** The scheme of channels. Its deposits do not pay the payee, and its payouts cover many channels. */
export const CHANNEL_SCHEME = BATCH_SETTLEMENT_SCHEME.name;

const schemes = new Map<string, Scheme>();
const actions = new Map<string, ReadonlyMap<ActionMethod, Action>>();
const rulesByScheme = new Map<string, ReadonlyMap<ActionMethod, ClaimRules>>();
const kinds = new Map<ActionMethod, ActionKind>();
const methods = new Map<ActionMethod, AuthorizationMethod>();
const bySelector = new Map<string, Action>();
const useEvents = new Set<Hex>();

/** @throws TypeError if the scheme contradicts a registered scheme. */
export function registerScheme(scheme: Scheme): void {
  if (schemes.has(scheme.name)) throw new TypeError(`scheme ${scheme.name} is registered`);
  for (const action of scheme.actions) {
    const { method, selectors } = action;
    if ((kinds.get(method.name) ?? method) !== method) {
      throw new TypeError(`transfer method ${method.name} is registered with another definition`);
    }
    kinds.set(method.name, method);
    if (isOfAuthorizations(method)) {
      methods.set(method.name, method);
      for (const event of method.useEvents) useEvents.add(event);
    }
    for (const selector of selectors) {
      if (bySelector.has(selector)) throw new TypeError(`selector ${selector} is taken`);
      bySelector.set(selector, action);
    }
  }
  actions.set(scheme.name, new Map(scheme.actions.map((action) => [action.method.name, action])));
  const all = [...scheme.actions, ...(scheme.verifyOnly ?? [])];
  rulesByScheme.set(scheme.name, new Map(all.map((rules) => [rules.method.name, rules])));
  schemes.set(scheme.name, scheme);
}

function isOfAuthorizations(kind: ActionKind): kind is AuthorizationMethod {
  return 'stateCall' in kind;
}

registerScheme(EXACT);
registerScheme(UPTO);
registerScheme(BATCH_SETTLEMENT_SCHEME);

export function allSchemes(): readonly Scheme[] {
  return [...schemes.values()];
}

/** `undefined` if this version of the protocol does not have the scheme. */
export function schemeNamed(name: string, version: 1 | 2): Scheme | undefined {
  const scheme = schemes.get(name);
  return scheme?.versions.includes(version) === true ? scheme : undefined;
}

/** Whether any version of the protocol has a scheme of this name. */
export function isSchemeName(name: unknown): name is string {
  return typeof name === 'string' && schemes.has(name);
}

/** The rules for a claim, by its scheme and method. */
export function rulesOf({ scheme = DEFAULT_SCHEME, method }: ActionName): ClaimRules {
  const rules = rulesByScheme.get(scheme)?.get(method);
  if (rules === undefined) throw new TypeError('no registered scheme has rules for this claim');
  return rules;
}

/** The action of an authorization, a record, or a claim to settle. */
export function actionOf({ scheme = DEFAULT_SCHEME, method }: ActionName): Action {
  const action = actions.get(scheme)?.get(method);
  if (action === undefined) throw new TypeError('no registered scheme has this action');
  return action;
}

/** The action on a channel; `undefined` for a payment, and for an unknown scheme or method. */
export function channelActionOf({
  scheme = DEFAULT_SCHEME,
  method,
}: ActionName): ChannelAction | undefined {
  return rulesByScheme.get(scheme)?.get(method)?.channelAction;
}

export function allActions(): readonly { readonly scheme: Scheme; readonly action: Action }[] {
  return allSchemes().flatMap((scheme) => scheme.actions.map((action) => ({ scheme, action })));
}

/** The action whose authorizations are presented by the function with this selector, without prefix. */
export function actionBySelector(selector: string): Action | undefined {
  return bySelector.get(selector);
}

/** All authorization methods. Actions without an authorization of a payer have none. */
export function allMethods(): readonly AuthorizationMethod[] {
  return [...methods.values()];
}

export function allMethodNames(): readonly ActionMethod[] {
  return [...kinds.keys()];
}

export function isMethodName(name: string | undefined): name is ActionMethod {
  return name !== undefined && (kinds as ReadonlyMap<string, unknown>).has(name);
}

export function kindNamed(name: ActionMethod): ActionKind {
  const kind = kinds.get(name);
  if (kind === undefined) throw new TypeError('no registered scheme has this action');
  return kind;
}

export function methodNamed(name: ActionMethod): AuthorizationMethod {
  const method = methods.get(name);
  if (method === undefined) throw new TypeError('no registered scheme has this transfer method');
  return method;
}

/** Whether logs with this first topic name a used or cancelled authorization. */
export function isUseEvent(topic: Hex | undefined): boolean {
  return topic !== undefined && useEvents.has(topic);
}

/** The payer as sent, in a payload of any scheme. */
export function payerIn(inner: JsonObject): unknown {
  for (const scheme of schemes.values()) {
    const payer = scheme.payerAsSent(inner);
    if (payer !== undefined && payer !== null) return payer;
  }
  return undefined;
}
