import type { Hex } from 'viem';
import type { ActionMethod, ActionName } from '../evm/transfer-method.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { ActionKind, AuthorizationMethod } from './authorization-method.js';
import { BATCH_SETTLEMENT_SCHEME } from './batch-settlement/batch-settlement.js';
import { EXACT } from './exact/exact.js';
import type { Action, Judge, Scheme } from './scheme.js';
import { UPTO } from './upto/upto.js';

/** Every scheme that is served here. Each rule of a payment belongs to its scheme. */

/** Of claims, authorizations and records that name none. */
export const DEFAULT_SCHEME = EXACT.name;

const schemes = new Map<string, Scheme>();
const actions = new Map<string, ReadonlyMap<ActionMethod, Action>>();
const judges = new Map<string, ReadonlyMap<ActionMethod, Judge>>();
const kinds = new Map<ActionMethod, ActionKind>();
const methods = new Map<ActionMethod, AuthorizationMethod>();
const bySelector = new Map<string, Action>();
const useEvents = new Set<Hex>();

/** @throws TypeError where it contradicts a scheme that is registered. */
export function registerScheme(scheme: Scheme): void {
  if (schemes.has(scheme.name)) throw new TypeError(`scheme ${scheme.name} is registered`);
  for (const action of scheme.actions) {
    const { method, selectors } = action;
    if ((kinds.get(method.name) ?? method) !== method) {
      throw new TypeError(`transfer method ${method.name} is another one`);
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
  const all = [...scheme.actions, ...(scheme.judges ?? [])];
  judges.set(scheme.name, new Map(all.map((judge) => [judge.method.name, judge])));
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

/** `undefined` for a scheme that this version of the protocol does not have here. */
export function schemeNamed(name: string, version: 1 | 2): Scheme | undefined {
  const scheme = schemes.get(name);
  return scheme?.versions.includes(version) === true ? scheme : undefined;
}

/** Whether a scheme of this name is served, whatever the version. */
export function isSchemeName(name: unknown): name is string {
  return typeof name === 'string' && schemes.has(name);
}

/** What judges a claim; see {@link Judge}. */
export function judgeOf({ scheme = DEFAULT_SCHEME, method }: ActionName): Judge {
  const judge = judges.get(scheme)?.get(method);
  if (judge === undefined) throw new TypeError('no scheme here judges such a claim');
  return judge;
}

/** The action that an authorization, a record or a claim to settle belongs to. */
export function actionOf({ scheme = DEFAULT_SCHEME, method }: ActionName): Action {
  const action = actions.get(scheme)?.get(method);
  if (action === undefined) throw new TypeError('no scheme here has such an action');
  return action;
}

export function allActions(): readonly { readonly scheme: Scheme; readonly action: Action }[] {
  return allSchemes().flatMap((scheme) => scheme.actions.map((action) => ({ scheme, action })));
}

/** The action whose authorizations are presented by functions with this selector, without prefix. */
export function actionBySelector(selector: string): Action | undefined {
  return bySelector.get(selector);
}

/** How authorizations are made. Actions that need none of a payer are not among them. */
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
  if (kind === undefined) throw new TypeError('no scheme here has such an action');
  return kind;
}

export function methodNamed(name: ActionMethod): AuthorizationMethod {
  const method = methods.get(name);
  if (method === undefined) throw new TypeError('no scheme here has such a transfer method');
  return method;
}

/** Whether logs with this first topic name an authorization as used or cancelled. */
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
