import { allActions, DEFAULT_SCHEME } from '../../protocol/schemes/registry.js';

/** For Lua: what a payment is refused for whose deadline has passed, by its scheme and method. */
export function expiryLua(): string {
  const reasons = allActions().map(
    ({ scheme, action }) =>
      `['${scheme.name} ${action.method.name}'] = '${action.reasons.expired}'`,
  );
  return `local EXPIRED = { ${reasons.join(', ')} }
local function expiry_reason(scheme, method)
  return EXPIRED[(scheme or '${DEFAULT_SCHEME}') .. ' ' .. (method or '')]
end
`;
}
