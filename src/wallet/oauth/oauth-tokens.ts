/** What the module of OAuth injects that is no class: `Provider` of `oidc-provider`. */
export const AUTHORIZATION_SERVER = Symbol('AUTHORIZATION_SERVER');
